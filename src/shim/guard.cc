#include "shim/guard.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "shim/files.h"
#include "shim/own_namespaces.h"
#include "shim/process_tree.h"

namespace moulin {
namespace {

constexpr int kStrikeFastMs = 1;
constexpr int kStrikeSlowMs = 100;
constexpr int kFastStrikes = 200;  // then the rest hangs in the kernel, and we try less often

void send_note(int socket, const GuardNote& note) {
  while (::send(socket, &note, sizeof note, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void close_all_but(std::array<int, 6> keep) {
  std::ranges::sort(keep);
  unsigned from = 3;
  for (int descriptor : keep) {
    if (descriptor < 3) continue;
    auto number = static_cast<unsigned>(descriptor);
    if (number > from) ::syscall(SYS_close_range, from, number - 1, 0U);
    from = number + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0U);
}

// What runs in the guard's process.
class GuardProcess {
 public:
  struct Wires {
    int notes = -1;
    int failure = -1;
    int null = -1;
  };
  GuardProcess(const GuardRequest& request, Wires wires) : request_(request), wires_(wires) {}

  [[noreturn]] void live(const OwnNamespaces* namespaces) {
    int cgroup = request_.cgroup != nullptr ? request_.cgroup->folder().number() : -1;
    close_all_but({wires_.notes, wires_.failure, wires_.null, request_.out, request_.err, cgroup});
    start(namespaces);
    for (int descriptor : {request_.out, request_.err, wires_.failure}) ::close(descriptor);
    watch();
  }

 private:
  [[noreturn]] void give_up(LaunchStep step) {
    send_note(wires_.notes, {.kind = GuardNote::Kind::kCannotStart, .failure = {.step = step, .number = errno}});
    ::_exit(1);
  }

  void start(const OwnNamespaces* namespaces) {
    ::prctl(PR_SET_NAME, "moulin-guard");
    if (!become_subreaper()) give_up(LaunchStep::kContainment);
    if (namespaces != nullptr && !namespaces->settle()) give_up(LaunchStep::kContainment);
    program_pid_ = clone_process({.cgroup = request_.cgroup});
    if (program_pid_ < 0) give_up(LaunchStep::kContainment);
    if (program_pid_ > 0) return;
    send_note(wires_.notes, {.kind = GuardNote::Kind::kBorn});
    request_.program.run({.null = wires_.null, .out = request_.out, .err = request_.err, .failure = wires_.failure});
  }

  [[noreturn]] void watch() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    Fd signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    std::array<pollfd, 2> wait{{{.fd = wires_.notes, .events = POLLIN, .revents = 0},
                                {.fd = signals.number(), .events = POLLIN, .revents = 0}}};
    // Ends in reap(), when there are no children.
    while (true) {
      ::poll(wait.data(), shim_gone_ ? 0 : wait.size(), pause());
      signalfd_siginfo ignored;
      while (::read(signals.number(), &ignored, sizeof ignored) > 0) {
      }
      take_orders();
      if (killing_) strike();
      reap();
    }
  }

  int pause() const {
    if (!killing_) return -1;
    return strikes_ < kFastStrikes ? kStrikeFastMs : kStrikeSlowMs;
  }

  void take_orders() {
    while (!shim_gone_) {
      uint8_t byte = 0;
      ssize_t got = ::recv(wires_.notes, &byte, sizeof byte, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        shim_gone_ = true;
        killing_ = true;
      } else if (byte == static_cast<uint8_t>(GuardOrder::kKill)) {
        killing_ = true;
      } else if (!program_ended_) {
        // Once the program was reaped, its number may belong to somebody else's group.
        ::kill(-program_pid_, SIGTERM);
      }
    }
  }

  void strike() {
    bool namespaced = request_.containment == ContainmentKind::kPidNamespace;
    TreeEnd(namespaced ? TreeEnd::Scope::kPidNamespace : TreeEnd::Scope::kChildren, request_.cgroup).strike();
    ++strikes_;
  }

  void reap() {
    while (true) {
      Reaped reaped = reap_one();
      if (reaped.kind == Reaped::Kind::kNone) return;
      if (reaped.kind == Reaped::Kind::kNoChildren) {
        DescendantsUsage used = descendants_usage();
        GuardNote last{.kind = GuardNote::Kind::kTreeGone, .cpu = used.cpu, .largest = used.largest};
        send_note(wires_.notes, last);
        ::_exit(0);
      }
      if (reaped.pid != program_pid_) continue;
      program_ended_ = true;
      send_note(wires_.notes, {.kind = GuardNote::Kind::kProgramEnded, .wait_status = reaped.wait_status});
    }
  }

  const GuardRequest& request_;
  Wires wires_;
  pid_t program_pid_ = -1;
  bool program_ended_ = false;
  bool shim_gone_ = false;
  bool killing_ = false;
  int strikes_ = 0;
};

}  // namespace

Result<Guard> start_guard(const GuardRequest& request) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return system_error("make a socket pair", errno);
  }
  Guard guard;
  guard.notes = Fd(pair[0]);
  Fd other(pair[1]);
  int yes = 1;
  ::setsockopt(guard.notes.number(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return system_error("make a pipe", errno);
  guard.failure = Fd(pipe_ends[0]);
  Fd failure(pipe_ends[1]);
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return system_error("open /dev/null", errno);

  OwnNamespaces namespaces;
  bool own = request.containment == ContainmentKind::kPidNamespace;
  pid_t pid = clone_process({.namespaces = own ? namespaces.flags() : 0});
  if (pid < 0) return system_error("fork the guard", errno);
  if (pid == 0) {
    GuardProcess process(request, {.notes = other.number(), .failure = failure.number(), .null = null.number()});
    process.live(own ? &namespaces : nullptr);
  }
  guard.pid = pid;
  return guard;
}

Result<std::optional<GuardNote>> next_note(const Guard& guard, int64_t& sender) {
  GuardNote note;
  iovec part{.iov_base = &note, .iov_len = sizeof note};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = ::recvmsg(guard.notes.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // ECONNRESET: it left without reading an order; its last notes still come.
  bool later = got < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET);
  if (later) return std::optional<GuardNote>();
  bool whole = got == static_cast<ssize_t>(sizeof note);
  if (!whole) return Error{.code = Code::kUnavailable, .message = "the guard is gone"};
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    sender = reinterpret_cast<ucred*>(CMSG_DATA(header))->pid;
  }
  return std::optional<GuardNote>(note);
}

void send_order(const Guard& guard, GuardOrder order) {
  auto byte = static_cast<uint8_t>(order);
  ::send(guard.notes.number(), &byte, sizeof byte, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace moulin
