// What the command line can do, as a table: names, options and help of each verb, and
// the function that does it. The parser (call.h) and the help (help.h) read it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace moulin::cli {

class Session;

struct OptionSpec {
  enum class Repeat { kOnce, kMany };
  std::string_view name;     // "gpu": written --gpu
  char letter = 0;           // 'f': also written -f
  std::string_view value{};  // what it takes, a word of words.h: "FILE"; empty: nothing
  std::string_view help;
  Repeat repeat = Repeat::kOnce;
};

struct Verb {
  enum class Tail { kNone, kMayCommand };  // kMayCommand: `-- CMD...` may stand at the end
  std::string_view name;                   // "run", "project create"
  std::string_view group;                  // heading in the overall help
  std::string_view arguments{};            // for the help, words of words.h: "ID", "USER ROLE at PLACE"
  size_t words_min = 0;
  size_t words_max = 0;
  Tail tail = Tail::kNone;
  std::string_view summary;  // one line
  std::span<const OptionSpec> options{};
  std::string_view details{};   // paragraphs below the options
  std::string_view examples{};  // at least one call, each on a line of its own
  // The exit status. Null: it needs no server, and main runs it (program.h).
  Result<int> (*run)(Session&) = nullptr;
};

// All verbs in the order of the help.
std::span<const Verb> verbs();

// Words of the product that are no verb yet, so that they are refused by name.
std::span<const std::string_view> verbs_not_built();

// The verb that a word of another program stands for: "kill" is "stop"; else empty.
std::string_view verb_of_habit(std::string_view word);

// The second words of `first`, in the order of the help: "list", "show" ... of "project".
std::vector<std::string_view> second_words(std::span<const Verb> verbs, std::string_view first);

}  // namespace moulin::cli
