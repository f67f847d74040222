#include "shim/containment.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "shim/files.h"
#include "shim/own_namespaces.h"
#include "shim/process_tree.h"

namespace moulin {
namespace {

constexpr int kKillWaitMs = 2000;

// Sanitizers hang work on _exit(), which is not for a child that shares its parent's state.
[[noreturn]] void leave(int status) {
  while (true) ::syscall(SYS_exit_group, status);
}

// Waits for a child of ours without a signal handler; kills it itself when that takes
// too long. The wait status.
int wait_for(pid_t pid) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd wait{.fd = process.number(), .events = POLLIN, .revents = 0};
  if (process && ::poll(&wait, 1, kKillWaitMs) == 0) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string limits_text(const CgroupLimits& limits) {
  std::string enforced;
  auto add = [&enforced](bool works, const char* name) {
    if (works) enforced += (enforced.empty() ? "" : ", ") + std::string(name);
  };
  add(limits.cpu, "cpu");
  add(limits.memory, "memory");
  add(limits.tasks, "tasks");
  return enforced.empty() ? "no limits (they are watched instead)" : fmt::format("limits of {}", enforced);
}

Status try_cgroup_kill(const Cgroup& group) {
  pid_t pid = clone_process({.cgroup = &group});
  if (pid < 0) return system_error("start a process in a cgroup", errno);
  if (pid == 0) {
    while (true) ::pause();
  }
  Status killed = group.kill();
  if (!killed) ::kill(pid, SIGKILL);
  wait_for(pid);
  return killed;
}

ContainmentFinding probe_cgroup(Containment& containment) {
  ContainmentFinding finding{.kind = ContainmentKind::kCgroup, .works = false, .detail = {}};
  Result<std::string> parent = prepare_cgroup_parent();
  Result<Cgroup> group = parent ? Cgroup::make(fmt::format("{}/probe-{}", *parent, ::getpid())) : parent.error();
  Status killed = group ? try_cgroup_kill(*group) : group.error();
  if (killed) {
    containment.controllers = group->limit({.cpu = {1000}, .memory = gibibytes(1), .tasks = 100});
    containment.cgroup_parent = *parent;
    finding.works = true;
    finding.detail = fmt::format("cgroup v2 at {} kills and gives {}", *parent, limits_text(containment.controllers));
  } else {
    finding.detail = fmt::format("cgroup v2 cannot be used: {}", killed.error().to_text());
  }
  if (group) (void)group->remove();
  return finding;
}

ContainmentFinding probe_pid_namespace() {
  OwnNamespaces namespaces;
  pid_t pid = clone_process({.namespaces = namespaces.flags()});
  if (pid == 0) leave(namespaces.settle() ? 0 : errno);
  if (pid < 0) {
    return {.kind = ContainmentKind::kPidNamespace, .works = false,
            .detail = system_error("make a PID namespace", errno).to_text()};
  }
  int status = wait_for(pid);
  bool works = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::string detail = works ? "PID namespaces with their own /proc work"
                             : system_error("mount /proc in a PID namespace", WEXITSTATUS(status)).to_text();
  return {.kind = ContainmentKind::kPidNamespace, .works = works, .detail = std::move(detail)};
}

}  // namespace

Containment probe_containment() {
  Containment containment;
  containment.findings.push_back(probe_cgroup(containment));
  containment.findings.push_back(probe_pid_namespace());
  containment.findings.push_back({.kind = ContainmentKind::kSubreaper,
                                  .works = true,
                                  .detail = "orphaned processes are adopted by the guard of their replica"});
  for (const ContainmentFinding& finding : containment.findings) {
    if (!finding.works) continue;
    containment.kind = finding.kind;
    break;
  }
  return containment;
}

}  // namespace moulin
