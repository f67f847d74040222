#include "main/service.h"

#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "shim/files.h"

extern char** environ;

namespace moulin {

namespace {

namespace fs = std::filesystem;

Result<std::string> own_program() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) return path.string();
  return Error{.code = Code::kUnavailable,
               .message = "the own program cannot be found: " + error.message(),
               .to_do = "mount /proc"};
}

Result<std::string> user_unit_folder() {
  const char* config = getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return std::string(config) + "/systemd/user";
  const char* home = getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.config/systemd/user";
  return Error{.code = Code::kUnavailable,
               .message = "there is no home folder for a service of yours",
               .to_do = "set HOME, or install the service as root"};
}

// As sd_booted(3): whether systemd is the init of this machine.
bool systemd_runs() {
  struct stat about{};
  return ::lstat("/run/systemd/system", &about) == 0 && S_ISDIR(about.st_mode);
}

Status run_systemctl(ServiceScope scope, std::vector<std::string> words) {
  std::vector<std::string> command{"systemctl"};
  if (scope == ServiceScope::kUser) command.push_back("--user");
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int number = ::posix_spawnp(&child, "systemctl", nullptr, nullptr, arguments.data(), environ);
  int status = 0;
  if (number == 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said = fmt::format("{}", fmt::join(command, " "));
  return Error{.code = Code::kUnavailable,
               .message = number != 0 ? fmt::format("`{}` cannot be run: {}", said, std::strerror(number))
                                      : fmt::format("`{}` failed", said),
               .to_do = fmt::format("see `{} status moulin` and `journalctl -u moulin`",
                                    scope == ServiceScope::kUser ? "systemctl --user" : "systemctl")};
}

}  // namespace

Result<ServiceFacts> service_facts() {
  ServiceFacts facts{.program = TRY(own_program())};
  bool is_root = ::geteuid() == 0;
  facts.scope = is_root ? ServiceScope::kSystem : ServiceScope::kUser;
  facts.unit_folder = is_root ? "/etc/systemd/system" : TRY(user_unit_folder());
  return facts;
}

Result<InstalledService> install_service(const ServiceFacts& facts, ServiceStart start) {
  std::string text = TRY(service_unit(facts));
  std::error_code error;
  fs::create_directories(facts.unit_folder, error);
  if (error) {
    return Error{.code = Code::kUnavailable,
                 .message = "the folder of units cannot be made: " + error.message(),
                 .given = facts.unit_folder,
                 .to_do = "check its permissions"};
  }
  InstalledService installed{.unit = facts.unit_folder + "/" + kServiceName};
  constexpr mode_t kReadableByAll = 0644;
  Fd folder = TRY(open_chosen_folder(facts.unit_folder));
  TRY(write_atomically(folder, kServiceName, text, Durability::kDisk));
  if (::fchmodat(folder.number(), kServiceName, kReadableByAll, 0) != 0) {
    return system_error("let everybody read the unit", errno);
  }
  if (start == ServiceStart::kLater || !systemd_runs()) return installed;
  TRY(run_systemctl(facts.scope, {"daemon-reload"}));
  TRY(run_systemctl(facts.scope, {"enable", "--now", kServiceName}));
  installed.started = true;
  return installed;
}

}  // namespace moulin
