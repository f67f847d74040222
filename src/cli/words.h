// The words that stand for values in the help, such as FILE, and where a shell finds what
// may stand in their place. Every word that the table of verbs uses is here.
#pragma once

#include <span>
#include <string_view>

namespace moulin::cli {

enum class ValueSource {
  kFree,     // nothing can be suggested
  kListed,   // one of `values`
  kFile,     // a file of this machine
  kFolder,   // a folder of this machine
  kCommand,  // a program of this machine
  // What the server knows:
  kWorkload,
  kProject,
  kDepartment,
  kPlace,  // a project, a department or the organisation
  kUser,
  kToken,
  kNode,
  kModel,
  kPool,
};

struct ValueWord {
  std::string_view word;
  ValueSource source = ValueSource::kFree;
  std::span<const std::string_view> values{};
};

// nullptr: there is no such word.
const ValueWord* find_value_word(std::string_view word);

}  // namespace moulin::cli
