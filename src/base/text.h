// Small questions about text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace moulin {

// Well-formed UTF-8 without surrogates and overlong forms.
bool is_utf8(std::string_view text);

// Lower-case letters, digits and '-', starting with a letter or digit, at most 63
// bytes: projects, workloads, pools, users, nodes may also hold '.' and '_'.
// `what` names the thing in the Error.
Status check_name(std::string_view what, std::string_view name);

// The candidate that a mistyped word most likely meant: the nearest within two edits,
// else empty.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

std::string words_text(std::span<const std::string_view> words);  // "a, b or c"
std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string_view> split(std::string_view text, char separator);

// At most `bytes_max` bytes, cut at a character, with "..." when something was cut.
std::string shortened(std::string_view text, size_t bytes_max = 200);

}  // namespace moulin
