// Times and durations as the API writes them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"

namespace moulin {

// Microseconds since 1970 in UTC. Only the edge knows wall time: an Instant becomes one
// with the offset that the state holds.
struct WallTime {
  int64_t us = 0;
  auto operator<=>(const WallTime&) const = default;
};
constexpr WallTime wall_time(Instant instant, Duration wall_offset) { return {instant.us + wall_offset.us}; }

// "2026-03-01T09:30:00.000250Z", always with six digits. From year 1970 to 9999.
std::string to_text(WallTime time);
// RFC 3339 with any offset and up to nine digits, of which six are kept. kInvalid else.
Result<WallTime> parse_wall_time(std::string_view text);

// Millionths as an exact decimal number without needless zeros: 1500000 is "1.5".
std::string decimal_of_millionths(int64_t millionths);
// The inverse; refuses a sign, an exponent, more than six digits after the point, and
// what does not fit.
Result<int64_t> parse_millionths(std::string_view text);

}  // namespace moulin
