#include "cli/console.h"

#include <fmt/format.h>

#include "api/problem.h"
#include "base/check.h"

namespace moulin::cli {

View Console::view() const {
  View view = parts_.out_view;
  view.now = parts_.now();
  return view;
}

View Console::error_view() const {
  View view = parts_.err_view;
  view.now = parts_.now();
  return view;
}

void Console::look_again() {
  if (parts_.measure_out) parts_.out_view = parts_.measure_out();
}

void Console::print_json(const Json& value) { parts_.write_out(write_json(value) + "\n"); }

void Console::note(std::string_view text) {
  if (!is_json()) parts_.write_err(fmt::format("{}\n", paint(text, Ink::kDim, parts_.err_view)));
}

void Console::print_error(const Error& error) {
  if (is_json()) {
    parts_.write_err(write_json(problem_document(error)) + "\n");
  } else {
    parts_.write_err(error_text(error, error_view()));
  }
}

std::string error_text(const Error& error, const View& view) {
  std::string text = paint("moulin:", Ink::kRed, view) + " ";
  if (!error.field.empty()) text += printable(error.field) + ": ";
  text += printable(error.message) + "\n";
  auto part = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9}{}\n", name, printable(value));
  };
  part("given:", error.given);
  part("allowed:", error.allowed);
  part("to do:", error.to_do);
  return text;
}

int exit_status(Code code) {
  switch (code) {
    case Code::kInternal: return 1;
    case Code::kInvalid:
    case Code::kTooLarge: return 2;
    case Code::kRefused: return 3;
    case Code::kNotFound: return 4;
    case Code::kUnauthenticated:
    case Code::kForbidden: return 5;
    case Code::kUnavailable:
    case Code::kTooMany: return 6;
    case Code::kConflict: return 7;
  }
  MOULIN_UNREACHABLE();
}

}  // namespace moulin::cli
