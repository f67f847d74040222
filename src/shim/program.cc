#include "shim/program.h"

#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace moulin {
namespace {

constexpr size_t kPathPartsMax = 256;
constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string path_of(const std::vector<std::string>& environment) {
  std::string path = environment_value(environment, "PATH");
  return path.empty() ? std::string(kDefaultPath) : path;
}

std::vector<std::string> candidates_for(const std::string& command, const std::string& path) {
  if (command.find('/') != command.npos) return {command};
  std::vector<std::string> candidates;
  for (std::string_view part : split(path, ':')) {
    if (candidates.size() == kPathPartsMax) break;
    candidates.push_back(fmt::format("{}/{}", part.empty() ? "." : part, command));
  }
  return candidates;
}

// execve takes pointers to non-const text but does not write to it.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void reset_signals() {
  struct sigaction fresh {};
  fresh.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &fresh, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string command_failure_text(int number, const ShimLaunch& launch) {
  const std::string& command = launch.argv[0];
  bool has_folder = command.find('/') != command.npos;
  if (number == ENOENT && has_folder) {
    return fmt::format("command not found: {} does not exist (or the interpreter in its first line does not); "
                       "check the path, which is looked up in the folder {}", command, launch.working_folder);
  }
  if (number == ENOENT) {
    return fmt::format("command not found: {} is in no folder of PATH ({}); install it, give its full path, or set "
                       "PATH in `env`", command, path_of(launch.environment));
  }
  if (number == EACCES) {
    return fmt::format("permission denied: {} may not be executed; check its mode (chmod +x) and its folders",
                       command);
  }
  if (number == ENOEXEC) {
    return fmt::format("{} is no program: its first line must be like #!/bin/sh, or run it by its interpreter",
                       command);
  }
  if (number == E2BIG) {
    return fmt::format("{} could not be started: arguments and environment together are too large; pass them in a "
                       "file", command);
  }
  return fmt::format("{} could not be started: {}", command, strerrordesc_np(number));
}

}  // namespace

std::string environment_value(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

Error account_error(const std::string& name, int number) {
  // What the manual names as ways to say that there is none.
  for (int none : {0, ENOENT, ESRCH, EBADF, EPERM}) {
    if (number != none) continue;
    return Error{.code = Code::kNotFound,
                 .message = fmt::format("the account {} does not exist on this machine", name),
                 .to_do = "create it, or map the user to another account"};
  }
  return Error{.code = Code::kUnavailable,
               .message = fmt::format("the account {} could not be looked up: {}", name, strerrordesc_np(number)),
               .to_do = "see whether `getent passwd` answers on this machine, then start again"};
}

bool become_account(const Account& account) {
  return ::setgroups(account.groups.size(), account.groups.data()) == 0 && ::setgid(account.gid) == 0 &&
         ::setuid(account.uid) == 0;
}

Result<Account> find_account(const std::string& name) {
  constexpr size_t kEntryMax = 1 << 22;  // an entry that needs more is broken
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(1 << 16);
  int number = 0;
  while ((number = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) != 0) {
    if (number == ERANGE && buffer.size() < kEntryMax)
      buffer.resize(buffer.size() * 2);
    else if (number != EINTR)
      break;
  }
  if (found == nullptr) return account_error(name, number);
  Account account{.name = name, .uid = entry.pw_uid, .gid = entry.pw_gid, .groups = std::vector<gid_t>(1024),
                  .home = entry.pw_dir};
  int count = static_cast<int>(account.groups.size());
  if (::getgrouplist(name.c_str(), entry.pw_gid, account.groups.data(), &count) < 0) {
    count = static_cast<int>(account.groups.size());
  }
  account.groups.resize(static_cast<size_t>(count));
  return account;
}

std::string failure_text(const LaunchFailure& failure, const ShimLaunch& launch) {
  const char* why = strerrordesc_np(failure.number);
  switch (failure.step) {
    case LaunchStep::kSession:
    case LaunchStep::kOutput:
      return fmt::format("the process could not be set up: {}", why);
    case LaunchStep::kAccount:
      return fmt::format("cannot become the account {}: {}; the server must run as root to do this", launch.account,
                         why);
    case LaunchStep::kFolder:
      if (failure.number == ENOENT) {
        return fmt::format("the working folder {} does not exist; create it or choose another", launch.working_folder);
      }
      return fmt::format("cannot enter the working folder {}: {}; check its permissions", launch.working_folder, why);
    case LaunchStep::kCommand:
      return command_failure_text(failure.number, launch);
    case LaunchStep::kContainment:
      return fmt::format("the process could not be contained ({}): {}", to_text(launch.containment), why);
  }
  MOULIN_UNREACHABLE();
}

Program::Program(const ShimLaunch& launch, std::optional<Account> account)
    : working_folder_(launch.working_folder),
      account_(std::move(account)),
      candidates_(candidates_for(launch.argv[0], path_of(launch.environment))),
      argv_(pointers_to(launch.argv)),
      environment_(pointers_to(launch.environment)) {}

std::optional<LaunchFailure> Program::become(const Descriptors& descriptors) const {
  auto failed = [](LaunchStep step) { return LaunchFailure{.step = step, .number = errno}; };
  if (::setsid() < 0) return failed(LaunchStep::kSession);
  bool wired = ::dup2(descriptors.in, 0) >= 0 && ::dup2(descriptors.out, 1) >= 0 && ::dup2(descriptors.err, 2) >= 0;
  if (!wired || ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return failed(LaunchStep::kOutput);
  if (descriptors.terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) return failed(LaunchStep::kOutput);
  ::umask(022);
  if (account_ && !become_account(*account_)) return failed(LaunchStep::kAccount);
  if (::chdir(working_folder_.c_str()) != 0) return failed(LaunchStep::kFolder);
  return std::nullopt;
}

LaunchFailure Program::exec() const {
  int number = ENOENT;
  for (const std::string& candidate : candidates_) {
    ::execve(candidate.c_str(), argv_.data(), environment_.data());
    if (errno == ENOENT || errno == ENOTDIR) continue;
    number = errno;
    if (errno != EACCES) break;  // like a shell: go on after "permission denied", but remember it
  }
  return {.step = LaunchStep::kCommand, .number = number};
}

void Program::run(const Descriptors& descriptors) const {
  std::optional<LaunchFailure> failure = become(descriptors);
  if (!failure) {
    reset_signals();
    failure = exec();
  }
  [[maybe_unused]] ssize_t put = ::write(descriptors.failure, &*failure, sizeof *failure);
  ::_exit(127);
}

}  // namespace moulin
