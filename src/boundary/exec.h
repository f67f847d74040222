// A command that runs beside the program of a replica, as whoever asked for it sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moulin {

// In characters, from 1 to 65,535.
struct TerminalShape {
  int32_t rows = 24;
  int32_t columns = 80;
  bool operator==(const TerminalShape&) const = default;
};

struct ExecCommand {
  std::vector<std::string> argv{};          // not empty
  std::optional<TerminalShape> terminal{};  // it gets a terminal of its own; else three pipes
  std::string term{};                       // TERM of that terminal; empty: as the program
};

// How it ended. Without code and signal it did not run, or the replica ended first; then
// `error` is a sentence. With code 126 or 127 and an error: it could not be executed.
struct ExecOutcome {
  std::optional<int32_t> code{};
  std::optional<int32_t> signal{};
  std::string error{};
  bool operator==(const ExecOutcome&) const = default;
};

// The running command. Destroying it hangs up: its process group gets SIGHUP. Never
// blocks; not thread-safe, and may live on any one thread.
class ExecChannel {
 public:
  virtual ~ExecChannel() = default;

  // For a poll of one's own: readable, or writable while wants_to_write(): call serve().
  virtual int descriptor() const = 0;
  virtual bool wants_to_write() const = 0;

  struct News {
    std::string output{};                  // of its terminal, or its standard output
    std::string errors{};                  // its standard error
    std::optional<ExecOutcome> outcome{};  // the last that is said
  };
  // Moves what can be moved now: at most about 256 KiB a call.
  virtual News serve() = 0;

  virtual void input(std::string_view bytes) = 0;
  virtual void end_input() = 0;  // without a terminal
  virtual void resize(const TerminalShape& shape) = 0;
  virtual void signal(int32_t number) = 0;
  // Bytes of input that wait. Whoever feeds stops above kWaitingMax.
  virtual size_t waiting() const = 0;
  static constexpr size_t kWaitingMax = 256 << 10;
};

}  // namespace moulin
