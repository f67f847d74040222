#include "cli/columns.h"

#include <algorithm>
#include <array>
#include <span>

namespace moulin::cli {

namespace {

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

// Blocks of Unicode that terminals draw two columns wide, in order.
constexpr std::array<Range, 20> kWide{{{0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
                                       {0x2614, 0x2615}, {0x2705, 0x2705}, {0x2728, 0x2728},   {0x274c, 0x274c},
                                       {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
                                       {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                       {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}}};

// Blocks that are drawn onto the character before, in order.
constexpr std::array<Range, 9> kCombining{{{0x0300, 0x036f},
                                           {0x1ab0, 0x1aff},
                                           {0x1dc0, 0x1dff},
                                           {0x200b, 0x200f},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0xfe20, 0xfe2f},
                                           {0x1f3fb, 0x1f3ff},
                                           {0xe0100, 0xe01ef}}};

bool is_in(std::span<const Range> ranges, char32_t point) {
  auto behind = std::partition_point(ranges.begin(), ranges.end(), [&](const Range& r) { return r.last < point; });
  return behind != ranges.end() && behind->first <= point;
}

struct Character {
  size_t bytes = 1;
  size_t columns = 1;
};

// The first character of a text that is not empty.
Character first_of(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t bytes = byte(0) < 0xc0 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (bytes == 1 || bytes > text.size()) return {};
  char32_t point = byte(0) & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    point = (point << 6U) | (byte(i) & 0x3fU);
  }
  if (is_in(kCombining, point)) return {.bytes = bytes, .columns = 0};
  return {.bytes = bytes, .columns = is_in(kWide, point) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    Character character = first_of(text);
    columns += character.columns;
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string cut_to(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  size_t used = 1;  // the ellipsis
  size_t end = 0;
  while (end < text.size()) {
    Character character = first_of(text.substr(end));
    if (used + character.columns > columns) break;
    used += character.columns;
    end += character.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> broken(std::string_view text, size_t columns) {
  std::vector<std::string> lines(1);
  bool is_first = true;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_first && columns_of(lines.back()) + 1 + columns_of(word) > columns) {
      lines.emplace_back();
      is_first = true;
    }
    if (!is_first) lines.back() += ' ';
    lines.back() += word;
    is_first = false;
  }
  return lines;
}

}  // namespace moulin::cli
