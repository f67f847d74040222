#include "shim/process_tree.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "shim/process_info.h"

namespace moulin {

pid_t clone_process(const CloneRequest& request) {
  if (request.namespaces == 0 && request.cgroup == nullptr) return ::fork();
  clone_args arguments{};
  arguments.flags = request.namespaces;
  arguments.exit_signal = SIGCHLD;
  if (request.cgroup != nullptr) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(request.cgroup->folder().number());
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

bool become_subreaper() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

void TreeEnd::strike() const {
  if (cgroup_ != nullptr) (void)cgroup_->kill();
  if (scope_ == Scope::kPidNamespace) {
    ::kill(-1, SIGKILL);
    return;
  }
  for (int64_t child : children_of(::getpid())) ::kill(static_cast<pid_t>(child), SIGKILL);
}

Reaped reap_one() {
  int status = 0;
  pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
  if (pid > 0) return {.kind = Reaped::Kind::kChild, .pid = pid, .wait_status = status};
  if (pid < 0 && errno == ECHILD) return {.kind = Reaped::Kind::kNoChildren};
  return {};
}

DescendantsUsage descendants_usage() {
  rusage used{};
  if (::getrusage(RUSAGE_CHILDREN, &used) != 0) return {};
  auto time = [](const timeval& value) { return seconds(value.tv_sec) + microseconds(value.tv_usec); };
  return {.cpu = time(used.ru_utime) + time(used.ru_stime), .largest = kibibytes(used.ru_maxrss)};
}

}  // namespace moulin
