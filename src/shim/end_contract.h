// How a program is asked to end: signal, grace, kill. Pure: no clock, no process.
#pragma once

#include <optional>

#include "base/instant.h"
#include "shim/protocol.h"

namespace moulin {

// A stronger reason replaces a weaker one (kill > stop > preempt > pause); the deadline
// only ever comes nearer. The signal is sent once: many programs take a second SIGTERM
// as "now, without saving".
class EndContract {
 public:
  struct Actions {
    bool write_flag = false;  // the flag file, before anything else
    bool terminate = false;   // SIGTERM to the program's process group
    bool kill = false;        // SIGKILL to the whole tree
  };
  Actions ask(ShimEndReason reason, Duration grace, Instant now);
  // What the passing of time demands.
  Actions tick(Instant now);

  std::optional<ShimEndReason> reason() const { return reason_; }
  std::optional<Instant> deadline() const { return deadline_; }
  bool killed() const { return killed_; }

 private:
  Actions kill();

  std::optional<ShimEndReason> reason_;
  std::optional<Instant> deadline_;
  bool killed_ = false;
};

// The text of the flag file: one line of JSON, e.g.
// {"reason":"preempt","grace_seconds":30,"deadline":"2025-12-01T06:23:30.000000Z"}
std::string flag_text(ShimEndReason reason, Duration left, int64_t wall_now_us);

}  // namespace moulin
