#include "cli/raw_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace moulin::cli {

bool is_on_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

bool has_input() { return ::fcntl(STDIN_FILENO, F_GETFD) >= 0; }

WindowSize window_size() {
  winsize size{};
  bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  return known ? WindowSize{.rows = size.ws_row, .columns = size.ws_col} : WindowSize{};
}

RawTerminal::RawTerminal() {
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return;
  before_ = settings;
  ::cfmakeraw(&settings);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

RawTerminal::~RawTerminal() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
}

SignalQueue::SignalQueue(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int number : numbers) ::sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalQueue::~SignalQueue() {
  while (take() != 0) {}
  if (descriptor_ >= 0) ::close(descriptor_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalQueue::take() {
  signalfd_siginfo info{};
  ssize_t got = ::read(descriptor_, &info, sizeof info);
  return got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

SharedInput::SharedInput() : flags_(::fcntl(STDIN_FILENO, F_GETFL)) {}

SharedInput::~SharedInput() {
  if (flags_ >= 0) ::fcntl(STDIN_FILENO, F_SETFL, flags_);
}

std::optional<std::string> SharedInput::read(size_t bytes_max) {
  std::string bytes(bytes_max, '\0');
  ssize_t got = 0;
  while ((got = ::read(STDIN_FILENO, bytes.data(), bytes.size())) < 0 && errno == EINTR) {}
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

bool write_output(int descriptor, std::string_view bytes, SignalQueue& signals,
                  const std::function<bool(int)>& on_signal) {
  while (!bytes.empty()) {
    std::array<pollfd, 2> wait{{{.fd = descriptor, .events = POLLOUT, .revents = 0},
                                {.fd = signals.descriptor(), .events = POLLIN, .revents = 0}}};
    ::poll(wait.data(), wait.size(), -1);
    while (int number = signals.take()) {
      if (!on_signal(number)) return false;
    }
    if (wait.front().revents == 0) continue;
    // A pipe with room takes so much without a wait, in which signals would not be seen.
    ssize_t put = ::write(descriptor, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace moulin::cli
