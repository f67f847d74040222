#include "base/instant.h"

#include <array>
#include <optional>

#include "base/text.h"

namespace moulin {

namespace {

struct Unit {
  std::string_view name;
  int64_t us;
};
constexpr std::array<Unit, 6> kUnits{{{"d", hours(24).us},
                                      {"h", hours(1).us},
                                      {"m", minutes(1).us},
                                      {"s", seconds(1).us},
                                      {"ms", 1'000},
                                      {"us", 1}}};

Error malformed(std::string_view text) {
  return {.code = Code::kInvalid,
          .message = "not a duration",
          .given = shortened(text),
          .allowed = "a number with a unit, 0 to 10 years, such as 90s, 30m, 1h30m, 2d"};
}

// Reads "<digits><unit>" from the front of `text`. The unit must come later in kUnits
// than `first_unit`, so that "5m1h" is refused.
std::optional<int64_t> take_part(std::string_view& text, size_t& first_unit) {
  size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > 15) return std::nullopt;
  int64_t number = 0;
  for (char digit : text.substr(0, digits)) number = number * 10 + (digit - '0');
  text.remove_prefix(digits);
  std::string_view name = text.substr(0, text.find_first_of("0123456789"));
  text.remove_prefix(name.size());
  for (size_t i = first_unit; i < kUnits.size(); ++i) {
    if (kUnits[i].name != name) continue;
    first_unit = i + 1;
    int64_t us = 0;
    if (__builtin_mul_overflow(number, kUnits[i].us, &us)) return std::nullopt;
    return us;
  }
  return std::nullopt;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{};
  if (text.empty()) return malformed(text);
  Duration total;
  size_t first_unit = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::optional<int64_t> us = take_part(rest, first_unit);
    if (!us || *us > kDurationMax.us) return malformed(text);
    total.us += *us;
  }
  if (total > kDurationMax) return malformed(text);
  return total;
}

std::string to_text(Duration duration) {
  if (duration.us == 0) return "0s";
  std::string text = duration.us < 0 ? "-" : "";
  // Unsigned, because the most negative duration has no positive twin.
  uint64_t rest = duration.us < 0 ? 0 - static_cast<uint64_t>(duration.us) : static_cast<uint64_t>(duration.us);
  for (const Unit& unit : kUnits) {
    auto unit_us = static_cast<uint64_t>(unit.us);
    if (rest < unit_us) continue;
    text += std::to_string(rest / unit_us);
    text += unit.name;
    rest %= unit_us;
  }
  return text;
}

}  // namespace moulin
