#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "api/socket.h"
#include "base/check.h"
#include "cli/private_file.h"

namespace moulin::cli {

namespace {

std::string variable(std::string_view name) {
  const char* value = ::getenv(std::string(name).c_str());
  return value != nullptr ? value : "";
}

WallTime wall_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return {int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

Duration local_offset() {
  time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  return seconds(local.tm_gmtoff);
}

// A number of columns or lines in the environment, which comes before what the terminal says.
int32_t size_of_variable(std::string_view name, int32_t otherwise) {
  constexpr int32_t kSizeMax = 10'000;
  std::string text = variable(name);
  int32_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  bool good = error == std::errc{} && end == text.data() + text.size() && size > 0 && size <= kSizeMax;
  return good ? size : otherwise;
}

View view_of(int descriptor) {
  View view{.utc_offset = local_offset()};
  if (::isatty(descriptor) != 1) return view;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) size = {};
  view.width = size_of_variable("COLUMNS", size.ws_col);
  view.height = size_of_variable("LINES", size.ws_row);
  bool plain = !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
  if (!plain) view.colour = View::Colour::kOn;
  return view;
}

// All of it; a reader that has gone ends us by SIGPIPE, as it does with other programs.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t size = ::write(descriptor, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<size_t>(size));
  }
}

Error cannot_read(const std::string& path, int reason) {
  Code code = reason == ENOENT ? Code::kNotFound : reason == EACCES ? Code::kForbidden : Code::kInvalid;
  return {.code = code,
          .message = std::string("cannot be read: ") + std::strerror(reason),
          .field = path,
          .to_do = "check the path and its permissions"};
}

Result<std::string> read_file(const std::string& path, size_t bytes_max) {
  Descriptor file;
  if (path != "-") {
    file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return cannot_read(path, errno);
  }
  int source = path == "-" ? STDIN_FILENO : file.number();
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {  // at most bytes_max and one piece
    ssize_t size = ::read(source, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot_read(path, errno);
    if (size == 0) return text;
    text.append(piece.data(), static_cast<size_t>(size));
    if (text.size() > bytes_max) {
      return Error{.code = Code::kTooLarge,
                   .message = "is too large",
                   .field = path,
                   .allowed = fmt::format("at most {} bytes", bytes_max)};
    }
  }
}

std::string random_hex(size_t count) {
  std::string text;
  std::array<unsigned char, 256> bytes{};
  MOULIN_CHECK(count <= bytes.size());
  MOULIN_CHECK(::getrandom(bytes.data(), count, 0) == static_cast<ssize_t>(count), "up to 256 bytes come whole");
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

class SignalInterrupts : public Interrupts {
 public:
  SignalInterrupts() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    MOULIN_CHECK(descriptor_, "a process that just started has room for a descriptor");
  }
  // What came until now was for us: it must not end the program behind our back.
  ~SignalInterrupts() override {
    while (take() != 0) {  // at most one of each signal
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalInterrupts(const SignalInterrupts&) = delete;
  SignalInterrupts& operator=(const SignalInterrupts&) = delete;

  int descriptor() const override { return descriptor_.number(); }
  int take() final {
    signalfd_siginfo info{};
    bool came = ::read(descriptor_.number(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
    return came ? static_cast<int>(info.ssi_signo) : 0;
  }
  bool wait(Duration at_most) override {
    pollfd watched{.fd = descriptor_.number(), .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, static_cast<int>(at_most.us / 1000)) == 1;
  }

 private:
  Descriptor descriptor_;
  sigset_t before_{};
};

// Makes what is typed invisible, until it goes out of scope.
class WithoutEcho {
 public:
  WithoutEcho() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
  }
  ~WithoutEcho() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

std::string ask_person(std::string_view question, Interrupts& interrupts) {
  write_all(STDERR_FILENO, question);
  std::string line;
  for (;;) {  // ends with the line, the input or an interrupt
    std::array<pollfd, 2> watched{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                   {.fd = interrupts.descriptor(), .events = POLLIN, .revents = 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return "";
    if (watched[1].revents != 0) {
      interrupts.take();
      write_all(STDERR_FILENO, "\n");
      return "";
    }
    if (watched[0].revents == 0) continue;
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) != 1 || c == '\n') return line;
    line += c;
  }
}

std::string ask_secret(std::string_view question, Interrupts& interrupts) {
  WithoutEcho silent;
  std::string line = ask_person(question, interrupts);
  write_all(STDERR_FILENO, "\n");
  return line;
}

std::string current_folder() {
  std::array<char, 4096> path{};
  return ::getcwd(path.data(), path.size()) != nullptr ? path.data() : "/";
}

}  // namespace

ConsoleParts process_console() {
  return {.write_out = [](std::string_view text) { write_all(STDOUT_FILENO, text); },
          .write_err = [](std::string_view text) { write_all(STDERR_FILENO, text); },
          .now = wall_clock,
          .out_view = view_of(STDOUT_FILENO),
          .err_view = view_of(STDERR_FILENO),
          .is_interactive = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1,
          .measure_out = [] { return view_of(STDOUT_FILENO); }};
}

Surroundings process_surroundings() {
  return {.variable = variable,
          .folder = current_folder(),
          .is_root = ::geteuid() == 0,
          .read_file = read_file,
          .write_private_file = write_private_file,
          .remove_file = remove_private_file,
          .random_hex = random_hex,
          .hold_interrupts = [] { return std::make_unique<SignalInterrupts>(); },
          .ask_person = ask_person,
          .ask_secret = ask_secret};
}

}  // namespace moulin::cli
