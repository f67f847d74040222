// Making processes and ending all that came of them.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/instant.h"
#include "shim/cgroup.h"
#include "shim/fd.h"

namespace moulin {

// Like fork(), with namespaces (CLONE_NEWPID ...) and a cgroup to be born into; -1 with
// errno as fork(). Only for single-threaded processes. The exit signal is SIGCHLD.
struct CloneRequest {
  uint64_t namespaces = 0;
  const Cgroup* cgroup = nullptr;
};
pid_t clone_process(const CloneRequest& request);

// Orphans among our descendants become our children from now on.
bool become_subreaper();

// Ends everything below this process. For a subreaper: every orphan becomes our child
// before its parent is gone, so "no children" (ECHILD) proves that nothing is left,
// also of a chain of processes that fork and exit. A scan of /proc proves nothing.
class TreeEnd {
 public:
  enum class Scope {
    kChildren,      // our children, again and again, until there are none
    kPidNamespace,  // we are process 1 of a PID namespace: all others in it
  };
  TreeEnd(Scope scope, const Cgroup* cgroup) : scope_(scope), cgroup_(cgroup) {}

  // Sends SIGKILL to all that is there now. Call again after reaping, until there are
  // no children; a process in an uninterruptible wait (a hung disk, a hung GPU driver)
  // dies only when the kernel lets go of it.
  void strike() const;

 private:
  Scope scope_;
  const Cgroup* cgroup_;  // may be nullptr; not owned
};

// A child that was reaped, or the news that there is none.
struct Reaped {
  enum class Kind { kNone, kChild, kNoChildren };
  Kind kind = Kind::kNone;
  pid_t pid = 0;
  int wait_status = 0;
};
Reaped reap_one();  // never blocks

// What all reaped descendants of this process used.
struct DescendantsUsage {
  Duration cpu{};
  Bytes largest{};  // peak memory of the largest one
};
DescendantsUsage descendants_usage();

}  // namespace moulin
