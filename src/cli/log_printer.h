// Lines of logs as they come, of one or of many replicas.
#pragma once

#include <optional>

#include "api/wire_types.h"
#include "cli/console.h"

namespace moulin::cli {

class LogPrinter {
 public:
  struct Style {
    enum class Streams { kSplit, kAllToOut };
    Streams streams = Streams::kAllToOut;  // kSplit: what went to stderr goes to ours
    bool names_replicas = false;           // "[2] " in front of each line
    bool shows_times = false;
  };
  LogPrinter(Console& console, Style style) : console_(console), style_(style) {}

  void print(const wire::LogLine& line);
  // A change of state, as a note beside the lines; the same one only once.
  void print_state(const wire::LogState& state);
  // Ends a line that was left open.
  void finish();

 private:
  void write(const wire::LogLine& line, std::string_view text);
  bool is_err(wire::LogStream stream) const {
    return style_.streams == Style::Streams::kSplit && stream == wire::LogStream::kStderr;
  }

  Console& console_;
  Style style_;
  std::optional<wire::LogLine> open_;  // the last line when it goes on
  std::string last_note_;
};

// "waiting: 0.5 GPU needed, 0.25 free", "preempted (higher_class) for w-...".
std::string state_note(const wire::LogState& state);

}  // namespace moulin::cli
