// The life of one replica: start, carry its output, answer the control socket, end it
// when asked or when it crosses a limit, and write down how it ended.
//
// One thread, one loop over poll(). Knows nothing of the server: it goes on whoever is
// connected or not, and is gone only after the status file is durable.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "shim/checkpoint_watch.h"
#include "shim/control_socket.h"
#include "shim/end_contract.h"
#include "shim/exchange.h"
#include "shim/exec_sessions.h"
#include "shim/guard.h"
#include "shim/output_pump.h"
#include "shim/process_tree.h"
#include "shim/usage_meter.h"

namespace moulin {

class Supervisor {
 public:
  struct Parts {
    Fd folder;    // the attempt folder
    Fd exchange;  // its `exchange`
    Fd listener;  // the control socket, listening
    ShimLaunch launch;
  };
  // All signals are blocked, and the process is single-threaded.
  explicit Supervisor(Parts parts);

  // Returns when the replica has ended, its status is durable (or its folder deleted, so
  // that nobody can ever read it), and either nobody is
  // connected, or the end was released, or kLinger has passed.
  Status run();

  static constexpr Duration kLinger = seconds(30);
  static constexpr Duration kPulse = seconds(1);                 // between looks whether we are lost
  static constexpr Duration kWatchRestart = seconds(10);         // after the process that looks died
  static constexpr Duration kStatusRetry = seconds(1);           // while the status cannot be written
  // When the attempt folder was deleted, no later server can find us. If none is connected
  // for this long, the program is asked to stop.
  static constexpr Duration kAbandonedAfter = seconds(60);
  static constexpr Duration kAbandonedGrace = seconds(30);

 private:
  // Start and end of the tree (supervisor_tree.cc).
  Status start();
  Status give_to_account();
  Status start_contained();
  void fail(std::string error);
  void take_notes();
  void take(const GuardNote& note, int64_t sender);
  void take_failure();
  void adopt_orphans();
  void finish(Duration cpu, Bytes largest);
  void begin_kill();
  void tell_guard(GuardOrder order);
  void settle_exit();

  // The loop (supervisor.cc).
  std::vector<pollfd> waits() const;
  std::optional<ExecSessions::Place> exec_place() const;
  int pause_ms(Instant now) const;
  void serve();
  void obey(const EndOrder& order, Instant now);
  void carry_out(const EndContract::Actions& actions, Instant now);
  void on_time(Instant now);
  void watch_for_checkpoints(Instant now);
  void count_checkpoints(int64_t more);
  bool is_lost() const;
  void stop_if_abandoned(Instant now);
  void write_status(Instant now);
  bool may_go(Instant now) const;
  Status write_identity();
  void push();

  Parts parts_;
  ControlSocket control_;
  ExecSessions execs_;
  OutputPump output_;
  EndContract contract_;
  CheckpointWatch checkpoint_;
  std::optional<Account> account_;
  std::optional<Program> program_;
  std::optional<Cgroup> cgroup_;
  ShimLimits watched_;  // limits that the cgroup does not enforce
  Guard guard_;
  std::optional<GuardOrder> owed_{};  // to the guard, which had no room for it
  bool guard_lost_ = false;
  std::optional<UsageMeter> meter_;
  std::optional<int> wait_status_;
  std::string error_;
  bool limit_hit_ = false;
  ShimState state_;
  bool status_written_ = false;
  bool released_ = false;
  bool news_ = true;         // push the state before the next wait
  Instant usage_due_{};
  Instant pulse_due_{};
  Instant watch_due_{};
  Instant status_due_{};
  Instant ended_at_{};
  Instant findable_at_{};    // when somebody was connected, or could have been
};

}  // namespace moulin
