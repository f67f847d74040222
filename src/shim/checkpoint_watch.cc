#include "shim/checkpoint_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "shim/files.h"
#include "shim/process_info.h"
#include "shim/process_tree.h"

namespace moulin {
namespace {

// Of the process that looks, where all other descriptors are closed.
constexpr int kSocketDescriptor = 3;
constexpr int kMilliPerSecond = 1000;

}  // namespace

void CheckpointWatch::live(int socket, const std::string& path, const Account* account) {
  bool moved = socket == kSocketDescriptor || ::dup2(socket, kSocketDescriptor) == kSocketDescriptor;
  ::syscall(SYS_close_range, unsigned{kSocketDescriptor + 1}, ~0U, 0U);
  ::prctl(PR_SET_NAME, "moulin-watch");
  if (!moved || (account != nullptr && !become_account(*account))) ::_exit(1);
  FolderAlarm alarm;
  Seen told;
  for (bool asked = true; true;) {
    if (!alarm.armed()) alarm.arm(path);
    if (alarm.armed()) alarm.drain();
    Seen now{.look = look_at(path), .asked = std::exchange(asked, false)};
    if (now.asked || now.look != told.look) {
      // Whoever does not read for so long that this is full gets the next difference.
      if (::send(kSocketDescriptor, &now, sizeof now, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        told = now;
      else if (errno == EPIPE)
        ::_exit(0);
    }
    std::array<pollfd, 2> waits{{{.fd = kSocketDescriptor, .events = POLLIN, .revents = 0},
                                 {.fd = alarm.armed() ? alarm.descriptor() : -1, .events = POLLIN, .revents = 0}}};
    ::poll(waits.data(), waits.size(), static_cast<int>(kInterval.us / 1000));
    char byte = 0;
    ssize_t got = ::recv(kSocketDescriptor, &byte, sizeof byte, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) ::_exit(0);  // the shim is gone
    asked = got > 0;
  }
}

Status CheckpointWatch::start(const std::string& path, const std::optional<Account>& account) {
  stop();
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return system_error("make a socket pair", errno);
  }
  Fd ours(pair[0]);
  Fd other(pair[1]);
  pid_t pid = clone_process({});
  if (pid < 0) return system_error("fork the process that looks for checkpoints", errno);
  if (pid == 0) live(other.number(), path, account ? &*account : nullptr);
  pid_ = pid;
  socket_ = std::move(ours);
  await_answer();
  return {};
}

void CheckpointWatch::stop() {
  socket_.reset();
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  // One that hangs on a disk dies later; it is nobody's, and we do not wait for it.
  constexpr int kTriesMax = 500;
  for (int tries = 0; tries < kTriesMax && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++tries) ::poll(nullptr, 0, 1);
  pid_ = 0;
}

bool CheckpointWatch::take() {
  Seen seen;
  ssize_t got = ::recv(socket_.number(), &seen, sizeof seen, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got != static_cast<ssize_t>(sizeof seen)) {
    stop();
    return false;
  }
  changes_ += watch_.take(seen.look) ? 1 : 0;
  return seen.asked;
}

void CheckpointWatch::await_answer() {
  Instant until = boot_time_now() + kPatience;
  while (running() && !take()) {
    int64_t left = (until - boot_time_now()).us / kMilliPerSecond;
    if (left <= 0) return;
    pollfd wait{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, static_cast<int>(left));
  }
}

int64_t CheckpointWatch::changes() {
  constexpr int kPacketsMax = 64;
  for (int packets = 0; running() && packets < kPacketsMax; ++packets) {
    pollfd wait{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, 0) <= 0) break;
    take();
  }
  return std::exchange(changes_, 0);
}

int64_t CheckpointWatch::last_changes() {
  char byte = 1;
  if (running() && ::send(socket_.number(), &byte, sizeof byte, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) await_answer();
  int64_t count = changes();
  stop();
  return count;
}

}  // namespace moulin
