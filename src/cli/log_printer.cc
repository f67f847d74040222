#include "cli/log_printer.h"

#include <fmt/format.h>

#include "cli/render/workloads.h"
#include "cli/units.h"

namespace moulin::cli {

std::string state_note(const wire::LogState& state) {
  std::string note(to_text(state.state));
  if (state.outcome && *state.outcome != Outcome::kNone && to_text(*state.outcome) != note) {
    note += fmt::format(" after attempt {} was {}", state.attempt, to_text(*state.outcome));
  }
  if (state.cause && *state.cause != Cause::kNone) note += fmt::format(" ({})", to_text(*state.cause));
  if (state.evicted_for) note += fmt::format(" for {}", to_text(*state.evicted_for));
  if (state.text && !state.text->empty()) {
    note += ": " + *state.text;
  } else if (state.exit && state.state == WorkloadState::kFailed) {
    note += ": " + exit_text(*state.exit);
  }
  return printable(note);
}

void LogPrinter::print(const wire::LogLine& line) {
  if (console_.is_json()) {
    console_.print_json(wire::write(line));
    return;
  }
  bool continues = open_ && open_->replica == line.replica && open_->stream == line.stream;
  if (open_ && !continues) finish();
  std::string text;
  if (!continues && style_.shows_times) text += clock_text(line.time, console_.view()) + " ";
  if (!continues && style_.names_replicas) text += fmt::format("[{}] ", line.replica);
  text += line.text;
  if (!line.partial) text += "\n";
  write(line, text);
  open_.reset();
  if (line.partial) open_ = line;
}

void LogPrinter::print_state(const wire::LogState& state) {
  if (console_.is_json()) {
    console_.print_json(wire::write(state));
    return;
  }
  std::string note = state_note(state);
  if (note == last_note_) return;
  finish();
  console_.note("moulin: " + note);
  last_note_ = std::move(note);
}

void LogPrinter::finish() {
  if (open_) write(*open_, "\n");
  open_.reset();
}

void LogPrinter::write(const wire::LogLine& line, std::string_view text) {
  if (is_err(line.stream)) {
    console_.write_err(text);
  } else {
    console_.print(text);
  }
}

}  // namespace moulin::cli
