// The guard: the process between the shim and the user's program that owns the tree.
//
// It is forked from the shim, does not exec, and is the subreaper (or process 1 of the
// PID namespace) of everything the program starts. It ends the tree when told to, and
// also when the shim dies: the socket between them reads end of file. So a tree outlives
// its shim only if both are killed in the same instant, and then the engine ends what
// is left (docs/shim_protocol.md, "What is left").
#pragma once

#include <cstdint>

#include "base/instant.h"
#include "base/share.h"
#include "shim/cgroup.h"
#include "shim/fd.h"
#include "shim/launch.h"
#include "shim/program.h"

namespace moulin {

// From the shim to the guard, one packet each, as is a GuardNote: both are the same binary.
enum class GuardOrder : uint8_t {
  kTerminate = 1,  // SIGTERM to the process group of the program
  kKill = 2,       // SIGKILL to everything, until nothing is left
  kExec = 3,       // run a command beside the program
  kSignal = 4,     // a signal to the process group of such a command
};
struct GuardCall {
  GuardOrder order = GuardOrder::kTerminate;
  int32_t exec = 0;       // number of the command, given by the shim
  int32_t signal = 0;     // with kSignal
  bool terminal = false;  // with kExec
};
// What goes with kExec, in this order.
struct ExecDescriptors {
  int launch = -1;  // a file with an encoded ShimLaunch, at its beginning
  int in = -1;
  int out = -1;
  int err = -1;
  int failure = -1;  // as Program::Descriptors
};

// From the guard to the shim, one packet each.
struct GuardNote {
  enum class Kind : int32_t {
    kBorn,          // sent by the program's process itself before exec, so that its number can be told
    kCannotStart,   // `failure` says why; the guard is gone
    kProgramEnded,  // wait_status is that of the program; others may be left
    kExecEnded,     // wait_status is that of command `exec`; -1: none was begun, `failure` says why; 0: all ends
    kTreeGone,      // nothing is left; cpu and largest are final; the guard is gone
  };
  Kind kind = Kind::kTreeGone;
  int32_t wait_status = 0;
  int32_t exec = 0;
  LaunchFailure failure{};
  Duration cpu{};
  Bytes largest{};
};

struct GuardRequest {
  const Program& program;
  ContainmentKind containment = ContainmentKind::kSubreaper;
  const Cgroup* cgroup = nullptr;  // with kCgroup
  int out = -1;                    // writing ends of the pipes for output
  int err = -1;
};

// The shim's side.
struct Guard {
  int64_t pid = 0;
  Fd notes;    // packets of GuardNote, and the place to send orders; closing it ends the tree
  Fd failure;  // end of file: the program runs; else one LaunchFailure
};

// Forks the guard, which starts the program. Only for single-threaded processes in which
// all signals are blocked.
Result<Guard> start_guard(const GuardRequest& request);

// The next note; nothing when there is none now. For kBorn `sender` gets the number of
// the program's process as we see it. An error when the guard is gone.
Result<std::optional<GuardNote>> next_note(const Guard& guard, int64_t& sender);
bool send_order(const Guard& guard, GuardOrder order);
// False when the guard cannot take it.
bool send_call(const Guard& guard, const GuardCall& call);
// False when the guard cannot take it.
bool send_exec(const Guard& guard, const GuardCall& call, const ExecDescriptors& descriptors);

}  // namespace moulin
