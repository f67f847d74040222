// How text is laid out for whoever reads it. Plain data, so that everything that renders
// is a pure function of an answer and a View.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/wall_time.h"

namespace moulin::cli {

struct View {
  enum class Colour { kOff, kOn };
  Colour colour = Colour::kOff;
  int32_t width = 0;      // columns of the terminal; 0: no terminal, nothing is cut
  int32_t height = 0;     // its lines; 0: no terminal
  WallTime now{};         // for "5m ago" and "in 2h"
  Duration utc_offset{};  // of the local time zone, east is positive
};

// Whether answers are for people or for programs.
enum class Form { kText, kJson };

enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

// The text in a colour when the view has colours.
std::string paint(std::string_view text, Ink ink, const View& view);

// Control characters as "\x1b" and "\n", so that what others wrote cannot move the cursor
// or forge lines.
std::string printable(std::string_view text);

// Breaks at blanks so that no line is wider than the view (72 columns without a
// terminal, at most 100), each line with `indent` in front. Ends with a newline.
std::string wrapped(std::string_view text, std::string_view indent, const View& view);

}  // namespace moulin::cli
