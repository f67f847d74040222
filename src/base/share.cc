#include "base/share.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "base/wide.h"

namespace moulin {

namespace {

constexpr int64_t kMilliMax = 1'000'000'000'000;

// A decimal of at most `places` digits after the point, as an integer count of
// 10^-places. Nothing for anything else, and above `max`.
std::optional<Wide> parse_decimal(std::string_view text, int places, Wide max) {
  if (text.empty() || text.front() == '.' || text.back() == '.' || text.size() > 24) return std::nullopt;
  Wide value = 0;
  int places_seen = -1;  // -1: no point yet
  for (char c : text) {
    if (c == '.') {
      if (places_seen >= 0) return std::nullopt;
      places_seen = 0;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    if (places_seen >= 0 && ++places_seen > places) return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > max) return std::nullopt;
  }
  for (int i = places_seen < 0 ? 0 : places_seen; i < places; ++i) {
    value *= 10;
    if (value > max) return std::nullopt;
  }
  return value;
}

std::string milli_text(int64_t milli) {
  std::string text = milli < 0 ? "-" : "";
  uint64_t magnitude = milli < 0 ? 0 - static_cast<uint64_t>(milli) : static_cast<uint64_t>(milli);
  text += std::to_string(magnitude / 1000);
  if (uint64_t rest = magnitude % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

struct ByteUnit {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<ByteUnit, 9> kByteUnits{{{"TiB", int64_t{1} << 40},
                                              {"GiB", int64_t{1} << 30},
                                              {"MiB", int64_t{1} << 20},
                                              {"KiB", int64_t{1} << 10},
                                              {"TB", 1'000'000'000'000},
                                              {"GB", 1'000'000'000},
                                              {"MB", 1'000'000},
                                              {"kB", 1'000},
                                              {"B", 1}}};
constexpr int64_t kBytesMax = int64_t{1} << 60;

Error malformed(std::string_view what, std::string_view text, std::string_view allowed) {
  return {.code = Code::kInvalid,
          .message = std::string(what),
          .given = shortened(text),
          .allowed = std::string(allowed)};
}

}  // namespace

Result<int64_t> parse_milli(std::string_view text) {
  if (std::optional<Wide> milli = parse_decimal(text, 3, kMilliMax)) return static_cast<int64_t>(*milli);
  return malformed("not an amount", text,
                   "a number from 0 to 1000000000 with at most three digits after the point, such as 0.25");
}

Result<CpuMilli> parse_cpu(std::string_view text) {
  if (text.ends_with('m')) {
    if (std::optional<Wide> milli = parse_decimal(text.substr(0, text.size() - 1), 0, kMilliMax))
      return CpuMilli{static_cast<int64_t>(*milli)};
  } else if (std::optional<Wide> milli = parse_decimal(text, 3, kMilliMax)) {
    return CpuMilli{static_cast<int64_t>(*milli)};
  }
  return malformed("not an amount of CPU", text, "cores such as 4 or 0.5, or thousandths of a core such as 500m");
}

Result<Bytes> parse_bytes(std::string_view text) {
  int64_t unit_bytes = 1;
  std::string_view number = text;
  for (const ByteUnit& unit : kByteUnits) {
    if (!text.ends_with(unit.name)) continue;
    unit_bytes = unit.bytes;
    number = text.substr(0, text.size() - unit.name.size());
    break;
  }
  std::optional<Wide> milli = parse_decimal(number, 3, Wide{kBytesMax} * 1000);
  Wide bytes = milli.value_or(0) * unit_bytes / 1000;
  // "1.5" would silently be one byte where somebody meant GiB.
  bool part_of_a_byte = unit_bytes == 1 && number.find('.') != std::string_view::npos;
  if (milli && bytes <= kBytesMax && !part_of_a_byte) return Bytes{static_cast<int64_t>(bytes)};
  return malformed("not an amount of memory", text,
                   "a number with KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as 20GiB");
}

std::string to_text(Share share) { return milli_text(share.milli); }
std::string to_text(CpuMilli cpu) { return milli_text(cpu.milli); }

std::string to_text(Bytes bytes) {
  for (size_t i = 0; i < 4; ++i) {
    const ByteUnit& unit = kByteUnits[i];
    if (bytes.count < unit.bytes) continue;
    Wide milli = static_cast<Wide>(bytes.count) * 1000;
    if (milli % unit.bytes != 0) continue;
    return milli_text(static_cast<int64_t>(milli / unit.bytes)) + std::string(unit.name);
  }
  return std::to_string(bytes.count) + "B";
}

}  // namespace moulin
