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
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "shim/files.h"
#include "shim/own_namespaces.h"
#include "shim/process_tree.h"

namespace moulin {
namespace {

constexpr int kStrikeFastMs = 1;
constexpr int kStrikeSlowMs = 100;
constexpr int kOrdersMax = 16;     // a turn; the end of a program is seen between
constexpr int kFastStrikes = 200;  // then the rest hangs in the kernel, and we try less often

void send_note(int socket, const GuardNote& note) {
  while (::send(socket, &note, sizeof note, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
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
  struct Exec {
    int32_t number = 0;
    pid_t pid = 0;
  };
  // A packet of the shim; got is what recvmsg() returned.
  struct Received {
    ssize_t got = 0;
    GuardCall call{};
    std::array<Fd, 5> descriptors{};  // as ExecDescriptors
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
    request_.program.run({.in = wires_.null, .out = request_.out, .err = request_.err, .failure = wires_.failure});
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
      while (::read(signals.number(), &ignored, sizeof ignored) > 0) {}
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
    for (int orders = 0; !shim_gone_ && orders < kOrdersMax; ++orders) {
      Received received = receive();
      if (received.got < 0 && errno == EINTR) continue;
      if (received.got < 0 && errno == EAGAIN) return;
      if (received.got != static_cast<ssize_t>(sizeof received.call)) {
        shim_gone_ = true;
        killing_ = true;
        return;
      }
      obey(received);
    }
  }

  void obey(const Received& received) {
    switch (received.call.order) {
      case GuardOrder::kTerminate:
        // Once the program was reaped, its number may belong to somebody else's group.
        if (!program_ended_) ::kill(-program_pid_, SIGTERM);
        return;
      case GuardOrder::kKill: killing_ = true; return;
      case GuardOrder::kExec: return start_exec(received);
      case GuardOrder::kSignal:
        for (const Exec& exec : execs_) {
          if (exec.number == received.call.exec) signal_exec(exec, received.call.signal);
        }
        return;
    }
  }

  // One that has only just been forked leads no group yet, and takes the signal with it
  // into its program.
  static void signal_exec(const Exec& exec, int number) {
    if (::kill(-exec.pid, number) != 0) ::kill(exec.pid, number);
  }

  Received receive() const {
    Received received;
    iovec part{.iov_base = &received.call, .iov_len = sizeof received.call};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ExecDescriptors))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    received.got = ::recvmsg(wires_.notes, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received.got <= 0) return received;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_type != SCM_RIGHTS) continue;
      // Fewer than were sent when we may have no more; those that came are closed with the rest.
      std::array<int, 5> numbers{};
      size_t bytes = std::min(header->cmsg_len - CMSG_LEN(0), sizeof numbers);
      std::memcpy(numbers.data(), CMSG_DATA(header), bytes);
      for (size_t i = 0; i < bytes / sizeof(int); ++i) received.descriptors[i] = Fd(numbers[i]);
    }
    return received;
  }

  void start_exec(const Received& received) {
    bool over = program_ended_ || killing_;
    bool whole = static_cast<bool>(received.descriptors.back());
    errno = over || whole ? 0 : EMFILE;
    pid_t pid = over || !whole ? -1 : clone_process({.cgroup = request_.cgroup});
    if (pid == 0) run_exec(received);
    if (pid > 0) {
      execs_.push_back({.number = received.call.exec, .pid = pid});
      return;
    }
    send_note(wires_.notes, {.kind = GuardNote::Kind::kExecEnded,
                             .wait_status = -1,
                             .exec = received.call.exec,
                             .failure = {.step = LaunchStep::kContainment, .number = errno}});
  }

  [[noreturn]] void run_exec(const Received& received) const {
    const auto& [launch_file, in, out, err, failure] = received.descriptors;
    std::string path = fmt::format("/proc/self/fd/{}", launch_file.number());
    Result<std::string> bytes = read_file_at(path, kLaunchBytesMax);
    Result<ShimLaunch> launch = bytes ? decode_launch(*bytes) : bytes.error();
    if (!launch) {
      LaunchFailure told{.step = LaunchStep::kCommand, .number = EINVAL};
      [[maybe_unused]] ssize_t put = ::write(failure.number(), &told, sizeof told);
      ::_exit(127);
    }
    Program program(*launch, request_.program.account());
    program.run({.in = in.number(),
                 .out = out.number(),
                 .err = err.number(),
                 .failure = failure.number(),
                 .terminal = received.call.terminal});
  }

  // Commands beside the program end with it, and with them the sessions that they lead.
  void end_execs() {
    for (const Exec& exec : execs_) {
      ::kill(-exec.pid, SIGKILL);
      ::kill(exec.pid, SIGKILL);
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
      note_exec_end(reaped);
      if (reaped.pid != program_pid_) continue;
      program_ended_ = true;
      end_execs();
      send_note(wires_.notes, {.kind = GuardNote::Kind::kProgramEnded, .wait_status = reaped.wait_status});
    }
  }

  void note_exec_end(const Reaped& reaped) {
    auto exec = std::ranges::find(execs_, reaped.pid, &Exec::pid);
    if (exec == execs_.end()) return;
    send_note(wires_.notes,
              {.kind = GuardNote::Kind::kExecEnded, .wait_status = reaped.wait_status, .exec = exec->number});
    execs_.erase(exec);
  }

  const GuardRequest& request_;
  Wires wires_;
  std::vector<Exec> execs_;
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

bool send_call(const Guard& guard, const GuardCall& call) {
  return ::send(guard.notes.number(), &call, sizeof call, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

bool send_order(const Guard& guard, GuardOrder order) { return send_call(guard, {.order = order}); }

bool send_exec(const Guard& guard, const GuardCall& call, const ExecDescriptors& descriptors) {
  GuardCall copy = call;
  iovec part{.iov_base = &copy, .iov_len = sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), &descriptors, sizeof descriptors);
  return ::sendmsg(guard.notes.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

}  // namespace moulin
