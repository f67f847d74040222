// Arguments of the program as one verb with its options.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"
#include "cli/view.h"

namespace moulin::cli {

// The server has a Call of its own; both are in one program, and must be two to the linker.
inline namespace command_line {

// One parsed call. Options are known to the verb and have a value where they need one.
class Call {
 public:
  const Verb* verb = nullptr;  // null: none was named; `topic` or the overall help is wanted
  std::string topic{};         // "project", of several verbs, whose help is wanted
  Form form = Form::kText;
  bool wants_help = false;
  std::vector<std::string> words{};    // as many as the verb takes, unless help is wanted
  std::vector<std::string> command{};  // after `--`

  bool has(std::string_view option) const { return values_.contains(std::string(check_known(option))); }
  // The value given last; nullptr when absent.
  const std::string* value(std::string_view option) const;
  // All values of a repeated option, in order.
  std::vector<std::string> values(std::string_view option) const;

  void add(std::string_view option, std::string value) { values_[std::string(option)].push_back(std::move(value)); }

 private:
  std::string_view check_known(std::string_view option) const;
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace command_line

// `arguments` without the name of the program. Options may stand before, between and
// after words, up to `--`. Every verb also has --json, --help and -h. `--version` is the
// verb `version`. Errors are kInvalid and say what was meant, if that can be guessed.
Result<Call> parse_call(std::span<const Verb> verbs, std::span<const std::string_view> arguments);

// What every verb has, besides its own options.
std::span<const OptionSpec> common_options();

// A value of an option, or of a word on the command line, that is no whole number.
Result<int64_t> parse_integer(std::string_view what, std::string_view text);

}  // namespace moulin::cli
