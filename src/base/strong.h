// Types for names and ids, so that swapped arguments do not compile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace moulin {

// A name that people choose, or that hardware has: NodeName, ProjectName, GpuUuid ...
template <class Tag>
struct Name {
  std::string text;
  Name() = default;
  explicit Name(std::string_view given) : text(given) {}
  auto operator<=>(const Name&) const = default;
  bool empty() const { return text.empty(); }
};
template <class Tag>
const std::string& to_text(const Name<Tag>& name) { return name.text; }

// A number made outside the core, never 0 for a real thing. Ids of one kind grow with
// time, so order by id is order by creation. The text form is the tag's prefix and 13
// characters of Crockford's base 32, lower case: "w-0c9k2v7m3x1qz".
template <class Tag>
struct Id {
  uint64_t number = 0;
  auto operator<=>(const Id&) const = default;
  explicit operator bool() const { return number != 0; }
};

std::string id_text(std::string_view prefix, uint64_t number);
Result<uint64_t> parse_id(std::string_view prefix, std::string_view text);

template <class Tag>
std::string to_text(Id<Tag> id) { return id_text(Tag::kPrefix, id.number); }

// A plain integer with a meaning: Epoch, AttemptNumber, SequenceNumber ...
template <class Tag, class Integer = int64_t>
struct Number {
  Integer value = 0;
  auto operator<=>(const Number&) const = default;
  constexpr Number next() const { return {static_cast<Integer>(value + 1)}; }
};

}  // namespace moulin
