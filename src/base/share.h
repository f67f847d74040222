// Amounts of what a node has. Integers always: a share never passes through a double.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moulin {

// GPU in thousandths of one device: 250 is a quarter, 8000 is eight devices.
struct Share {
  int64_t milli = 0;
  auto operator<=>(const Share&) const = default;
  constexpr Share operator+(Share other) const { return {milli + other.milli}; }
  constexpr Share operator-(Share other) const { return {milli - other.milli}; }
  constexpr Share operator*(int64_t factor) const { return {milli * factor}; }
  constexpr Share& operator+=(Share other) { milli += other.milli; return *this; }
  constexpr Share& operator-=(Share other) { milli -= other.milli; return *this; }
};
inline constexpr Share kWholeDevice{1000};
inline constexpr Share kShareMin{10};          // smallest part of a device one can ask for
inline constexpr int64_t kDevicesMax = 1'000'000;  // more is a slip of the pen

// CPU in thousandths of one core.
struct CpuMilli {
  int64_t milli = 0;
  auto operator<=>(const CpuMilli&) const = default;
  constexpr CpuMilli operator+(CpuMilli other) const { return {milli + other.milli}; }
  constexpr CpuMilli operator-(CpuMilli other) const { return {milli - other.milli}; }
  constexpr CpuMilli operator*(int64_t factor) const { return {milli * factor}; }
  constexpr CpuMilli& operator+=(CpuMilli other) { milli += other.milli; return *this; }
  constexpr CpuMilli& operator-=(CpuMilli other) { milli -= other.milli; return *this; }
};

struct Bytes {
  int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes other) const { return {count + other.count}; }
  constexpr Bytes operator-(Bytes other) const { return {count - other.count}; }
  constexpr Bytes operator*(int64_t factor) const { return {count * factor}; }
  constexpr Bytes& operator+=(Bytes other) { count += other.count; return *this; }
  constexpr Bytes& operator-=(Bytes other) { count -= other.count; return *this; }
};
constexpr Bytes kibibytes(int64_t n) { return {n << 10}; }
constexpr Bytes mebibytes(int64_t n) { return {n << 20}; }
constexpr Bytes gibibytes(int64_t n) { return {n << 30}; }

// A non-negative decimal with at most three digits after the point, in thousandths:
// "0.25" is 250, "2" is 2000. Errors: empty, sign, exponent, more than three digits
// after the point, above 10^12. No field name is set; the caller adds it.
Result<int64_t> parse_milli(std::string_view text);

Result<CpuMilli> parse_cpu(std::string_view text);  // "4", "0.5", "500m"
// "20GiB", "512MiB", "1.5GiB", "80GB", "1024" (bytes); at most 2^60. A fraction needs a unit
// ("1.5" is refused); what is left below one byte is dropped.
Result<Bytes> parse_bytes(std::string_view text);

std::string to_text(Share share);     // "0.25", "2"
std::string to_text(CpuMilli cpu);    // "0.5", "4"
std::string to_text(Bytes bytes);     // "20GiB", "1.5GiB", "1000B": exact, parses back

}  // namespace moulin
