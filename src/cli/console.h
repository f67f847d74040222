// Where output goes: standard output for what was asked for, standard error for
// everything said beside it.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/view.h"

namespace moulin::cli {

// What a console writes to and knows about its terminal; main fills it from the process
// (terminal.h), a test from memory.
struct ConsoleParts {
  std::function<void(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<WallTime()> now;
  View out_view{};  // `now` is filled in at each use
  View err_view{};
  bool is_interactive = false;          // a person can answer a question
  std::function<View()> measure_out{};  // the view of now: a person may have resized the terminal
};

class Console {
 public:
  Console(ConsoleParts parts, Form form) : parts_(std::move(parts)), form_(form) {}

  bool is_json() const { return form_ == Form::kJson; }
  bool is_interactive() const { return has_person() && !is_json(); }
  // Whether somebody sits at the keyboard, whatever form the answers have.
  bool has_person() const { return parts_.is_interactive; }
  View view() const;
  View error_view() const;
  // Takes over the size that the terminal has now.
  void look_again();

  void print(std::string_view text) { parts_.write_out(text); }
  void print_json(const Json& value);  // one line
  void note(std::string_view text);    // a line beside the output; nothing with --json
  void write_err(std::string_view text) { parts_.write_err(text); }
  void print_error(const Error& error);

 private:
  ConsoleParts parts_;
  Form form_;
};

// "moulin: resources.gpu: ..." with given, allowed and to do on lines of their own.
std::string error_text(const Error& error, const View& view);

// The exit status of a verb that ended with this error; docs/cli.md lists them.
int exit_status(Code code);
// Of a verb that Ctrl-C ended: 128 and SIGINT, as shells have it.
inline constexpr int kInterruptedStatus = 130;

}  // namespace moulin::cli
