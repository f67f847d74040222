// Time as data. Nothing here reads a clock: the shell does, and stamps commands.
//
// Both types count microseconds in 64 bits (292,000 years). An Instant follows
// CLOCK_BOOTTIME of the machine, made monotonic over restarts by the server; it is not
// wall time. Offsets to wall time are events in the journal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moulin {

struct Duration {
  int64_t us = 0;
  auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return {us + other.us}; }
  constexpr Duration operator-(Duration other) const { return {us - other.us}; }
  constexpr Duration operator*(int64_t factor) const { return {us * factor}; }
  constexpr Duration& operator+=(Duration other) { us += other.us; return *this; }
};

struct Instant {
  int64_t us = 0;
  auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration duration) const { return {us + duration.us}; }
  constexpr Instant operator-(Duration duration) const { return {us - duration.us}; }
  constexpr Duration operator-(Instant other) const { return {us - other.us}; }
};

constexpr Duration microseconds(int64_t n) { return {n}; }
constexpr Duration milliseconds(int64_t n) { return {n * 1'000}; }
constexpr Duration seconds(int64_t n) { return {n * 1'000'000}; }
constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
constexpr Duration hours(int64_t n) { return minutes(n * 60); }

// The longest duration a user may write: ten years.
inline constexpr Duration kDurationMax = hours(24 * 3653);

// "90s", "30m", "8h", "2d", "500ms", "1h30m" or "0". Never negative, at most ten years.
Result<Duration> parse_duration(std::string_view text);

// The shortest of the same forms: 5400 s is "1h30m", 0 is "0s". Parses back exactly.
std::string to_text(Duration duration);

}  // namespace moulin
