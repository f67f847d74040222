// What may stand next on a command line, for the completion of a shell. Pure: read from
// the table of verbs; what only the server knows is left to the caller.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"
#include "cli/words.h"

namespace moulin::cli {

struct Candidate {
  std::string text;
  std::string help{};  // a few words, for shells that show them
};

struct Completion {
  std::vector<Candidate> candidates{};      // begin with the current word, in the order of the help
  ValueSource source = ValueSource::kFree;  // where more come from
};

// `before` are the whole words behind `moulin`, `current` is the one that is being typed.
Completion complete(std::span<const Verb> verbs, std::span<const std::string_view> before, std::string_view current);

}  // namespace moulin::cli
