// How much room text takes on a terminal. Pure; knows UTF-8 and no locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace moulin::cli {

// Columns on the screen: wide characters (Chinese, emoji) take two, combining ones none.
// A byte that is no UTF-8 takes one.
size_t columns_of(std::string_view text);

// At most that many columns, with an ellipsis when something was cut. Needs a positive width.
std::string cut_to(std::string_view text, size_t columns);

// Lines of at most that many columns, broken at blanks; a longer word has a line of its
// own. At least one line.
std::vector<std::string> broken(std::string_view text, size_t columns);

}  // namespace moulin::cli
