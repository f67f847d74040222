// What a shell asks at each Tab: `moulin __complete WORD... CURRENT`.
#pragma once

#include <span>
#include <string_view>

#include "cli/session.h"

namespace moulin::cli {

inline constexpr std::string_view kCompleteVerb = "__complete";

// One candidate on each line, behind a tab what it is; ":file", ":folder" or ":command" on
// a line of its own when the shell knows better. Errors are silent: a Tab has no place for
// them. Asks the server for at most a second.
int suggest(Session& session, std::span<const std::string_view> words);

}  // namespace moulin::cli
