// Notices that a program replaced its checkpoint file.
//
// The path is the user's choice. So a process of its own looks at it, with the rights of
// the program's account and no others, and a disk that hangs holds up nobody but that
// process. It only tells what it sees; what counts as a change is judged here.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "shim/exchange.h"
#include "shim/fd.h"
#include "shim/program.h"

namespace moulin {

// Only for single-threaded processes in which all signals are blocked. Not thread-safe.
class CheckpointWatch {
 public:
  CheckpointWatch() = default;
  ~CheckpointWatch() { stop(); }
  CheckpointWatch(const CheckpointWatch&) = delete;
  CheckpointWatch& operator=(const CheckpointWatch&) = delete;

  // Forks the process and waits up to kPatience for its first look: what is there then
  // counts as known. Call again when it is no longer running(): what was known stays so.
  Status start(const std::string& path, const std::optional<Account>& account);
  bool running() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.number(); }  // readable: ask changed(); -1: not running

  // How often was the file replaced since the last call, as far as was seen? Never blocks.
  int64_t changes();
  // The same after another look, for which it waits up to kPatience; then stops.
  int64_t last_changes();
  void stop();

  static constexpr Duration kPatience = seconds(2);
  static constexpr Duration kInterval = seconds(1);  // between looks when nothing wakes the process

 private:
  // A packet from the process.
  struct Seen {
    FileLook look{};
    bool asked = false;  // the answer to a question
  };
  [[noreturn]] static void live(int socket, const std::string& path, const Account* account);
  bool take();  // one packet, if there is one; true when it answers a question
  void await_answer();

  Fd socket_;
  pid_t pid_ = 0;
  FileWatch watch_;
  int64_t changes_ = 0;
};

}  // namespace moulin
