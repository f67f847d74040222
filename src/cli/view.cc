#include "cli/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/columns.h"

namespace moulin::cli {

namespace {

constexpr size_t kProseColumns = 72;
constexpr size_t kProseColumnsMax = 100;
constexpr size_t kProseColumnsMin = 30;

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain: return "";
    case Ink::kBold: return "1";
    case Ink::kDim: return "2";
    case Ink::kRed: return "31";
    case Ink::kGreen: return "32";
    case Ink::kYellow: return "33";
    case Ink::kBlue: return "34";
    case Ink::kCyan: return "36";
  }
  return "";
}

}  // namespace

std::string paint(std::string_view text, Ink ink, const View& view) {
  if (view.colour == View::Colour::kOff || ink == Ink::kPlain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(ink), text);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte == '\n') {
      shown += "\\n";
    } else if (byte == '\t') {
      shown += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (is_c1) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string wrapped(std::string_view text, std::string_view indent, const View& view) {
  size_t width = view.width > 0 ? static_cast<size_t>(view.width) : kProseColumns;
  width = std::clamp(width, kProseColumnsMin, kProseColumnsMax);
  std::string lines;
  for (const std::string& line : broken(text, width - std::min(width, columns_of(indent)))) {
    lines += fmt::format("{}{}\n", indent, line);
  }
  return lines;
}

}  // namespace moulin::cli
