#include "server/data_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

namespace moulin {

namespace {

Error failed(std::string_view what, const std::string& path, std::string to_do) {
  return {.code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable,
          .message = std::string(what) + ": " + std::strerror(errno),
          .given = path,
          .to_do = std::move(to_do)};
}

// Below a server that is root, programs under accounts of their own must reach what is
// theirs: others may pass through then, but not look. Every file is 0600.
mode_t folder_mode() { return ::geteuid() == 0 ? 0711 : 0700; }

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  bool ours = !error && (std::filesystem::is_empty(path, error) || std::filesystem::exists(path + "/lock", error));
  // A folder that holds other things stays as its owner wants it.
  if (!error && (!ours || ::chmod(path.c_str(), folder_mode()) == 0)) return {};
  if (error) errno = error.value();
  return failed("the data folder cannot be made", path, "choose a folder of your own with --data");
}

// What another account began must not be gone on with as root: its users run as the
// server, and the server would be root.
Status check_owner(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return failed("the data folder cannot be read", path, "check its permissions");
  if (::geteuid() != 0 || about.st_uid == 0) return {};
  return Error{.code = Code::kConflict,
               .message = "this data folder belongs to another account, and this server would run as root",
               .given = path,
               .to_do = "start Moulin as the owner of the folder, or choose another with --data"};
}

// Who holds the lock, as that server wrote it; 0: it did not.
pid_t holder_of(int lock) {
  char text[32] = {};
  ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
  pid_t holder = 0;
  std::from_chars(text, text + std::max<ssize_t>(size, 0), holder);
  return holder;
}

// When a server is killed while it starts a shim, its child holds the lock until it has
// become the shim: that is waited for.
bool take_lock(int lock) {
  constexpr int kTriesMax = 200;
  constexpr int kPauseMs = 10;
  for (int tries = 0; ::flock(lock, LOCK_EX | LOCK_NB) != 0; ++tries) {
    pid_t holder = holder_of(lock);
    bool is_gone = holder > 0 && ::kill(holder, 0) != 0 && errno == ESRCH;
    if (!is_gone || tries == kTriesMax) return false;
    ::poll(nullptr, 0, kPauseMs);  // nothing tells when the lock is let go
  }
  return true;
}

}  // namespace

Result<DataFolder> DataFolder::open(const std::string& path) {
  std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
  if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  TRY(make_folder(absolute));
  TRY(check_owner(absolute));
  TRY(make_folder(absolute + "/attempts"));
  TRY(make_folder(absolute + "/snapshots"));
  std::string lock_path = absolute + "/lock";
  int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return failed("the data folder cannot be locked", lock_path, "check its owner and its permissions");
  if (!take_lock(lock)) {
    pid_t holder = holder_of(lock);
    ::close(lock);
    std::string process = holder > 0 ? " (process " + std::to_string(holder) + ")" : "";
    return Error{.code = Code::kConflict,
                 .message = "another Moulin serves this data folder" + process,
                 .given = absolute,
                 .to_do = "use that one, stop it with `moulin down`, or choose another folder with --data"};
  }
  std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock, 0) != 0 || ::pwrite(lock, pid.data(), pid.size(), 0) < 0) {
    Error error = failed("the data folder cannot be written", lock_path, "free disk space or check its permissions");
    ::close(lock);
    return error;
  }
  return DataFolder(std::move(absolute), lock);
}

DataFolder::~DataFolder() {
  if (lock_ >= 0) ::close(lock_);
}

DataFolder::DataFolder(DataFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

}  // namespace moulin
