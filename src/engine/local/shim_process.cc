#include "engine/local/shim_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "shim/files.h"

namespace moulin {
namespace {

constexpr int kBacklog = 16;
constexpr int kHighDescriptor = 64;  // above those that the shim gets

// A path of any length fits, since it goes through the open folder.
sockaddr_un address_in(const Fd& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = fmt::format("/proc/self/fd/{}/{}", folder.number(), attempt_files::kSocket);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Fd unix_socket() { return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

// Descriptors move out of the way of the numbers they are to get.
Fd duplicate_high(const Fd& file) { return Fd(::fcntl(file.number(), F_DUPFD_CLOEXEC, kHighDescriptor)); }

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

Result<AttemptLock> take_lock(const Fd& folder) {
  Fd file(::openat(folder.number(), attempt_files::kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error("open the lock of an attempt", errno);
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return AttemptLock{LockState::kTaken, std::move(file)};
  if (errno == EWOULDBLOCK) return AttemptLock{};
  return system_error("lock an attempt", errno);
}

Result<Fd> listen_in(const Fd& folder) {
  Fd listener = unix_socket();
  ::unlinkat(folder.number(), attempt_files::kSocket, 0);
  sockaddr_un address = address_in(folder);
  if (::bind(listener.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return system_error("make the control socket", errno);
  }
  ::fchmodat(folder.number(), attempt_files::kSocket, 0600, 0);
  if (::listen(listener.number(), kBacklog) != 0) return system_error("listen on the control socket", errno);
  return listener;
}

Result<Fd> connect_in(const Fd& folder) {
  Fd socket = unix_socket();
  sockaddr_un address = address_in(folder);
  if (::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return system_error("connect to the control socket", errno);
  }
  return socket;
}

Result<SpawnedShim> spawn_shim(const SpawnRequest& request) {
  Fd lock = duplicate_high(request.lock);
  Fd listener = duplicate_high(request.listener);
  Fd log(::openat(request.folder.number(), attempt_files::kShimLog,
                  O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock || !listener || !log) return system_error("prepare the start of a shim", errno);
  Fd high_log = duplicate_high(log);

  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, high_log.number(), 1);
  ::posix_spawn_file_actions_adddup2(&settings.actions, high_log.number(), 2);
  ::posix_spawn_file_actions_adddup2(&settings.actions, lock.number(), kLockDescriptor);
  ::posix_spawn_file_actions_adddup2(&settings.actions, listener.number(), kListenDescriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, kListenDescriptor + 1);

  std::vector<char*> arguments;
  for (const std::string& part : request.command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(const_cast<char*>(request.folder_path.c_str()));
  arguments.push_back(nullptr);
  char* no_environment[] = {nullptr};
  pid_t pid = 0;
  int error = ::posix_spawn(&pid, arguments[0], &settings.actions, &settings.attributes, arguments.data(),
                            no_environment);
  if (error != 0) return system_error(fmt::format("start a shim ({})", request.command[0]), error);
  return SpawnedShim{.pid = pid, .process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

bool reap(const SpawnedShim& shim) {
  siginfo_t info{};
  int result = ::waitid(P_PID, static_cast<id_t>(shim.pid), &info, WEXITED | WNOHANG);
  return result != 0 || info.si_pid != 0;
}

}  // namespace moulin
