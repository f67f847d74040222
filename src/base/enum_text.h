// Words for enumerators, the same in files, API, journal dumps and messages.
//
//   template <> inline constexpr auto kWords<Class> = std::to_array<std::string_view>({"production", ...});
//
// Words stand in the order of the enumerators, which count from 0 without gaps.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/result.h"
#include "base/text.h"

namespace moulin {

template <class Enum>
inline constexpr std::array<std::string_view, 0> kWords{};

template <class Enum>
concept Worded = std::is_enum_v<Enum> && (kWords<Enum>.size() > 0);

template <Worded Enum>
constexpr std::string_view to_text(Enum value) {
  auto index = static_cast<size_t>(value);
  MOULIN_CHECK(index < kWords<Enum>.size(), "an enumerator without a word");
  return kWords<Enum>[index];
}

template <Worded Enum>
std::optional<Enum> from_text(std::string_view text) {
  for (size_t i = 0; i < kWords<Enum>.size(); ++i) {
    if (kWords<Enum>[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// The same, with an Error that lists the words. `what` names the thing: "class".
template <Worded Enum>
Result<Enum> parse_word(std::string_view what, std::string_view text) {
  if (std::optional<Enum> value = from_text<Enum>(text)) return *value;
  std::string_view near = nearest_word(text, kWords<Enum>);
  return Error{.code = Code::kInvalid,
               .message = "unknown " + std::string(what),
               .given = shortened(text),
               .allowed = words_text(kWords<Enum>),
               .to_do = near.empty() ? "" : "did you mean \"" + std::string(near) + "\"?"};
}

}  // namespace moulin
