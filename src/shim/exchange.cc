#include "shim/exchange.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/share.h"

namespace moulin {

FileLook look_at(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return {};
  return {.exists = true,
          .device = facts.st_dev,
          .inode = facts.st_ino,
          .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec,
          .bytes = facts.st_size};
}

bool FileWatch::take(const FileLook& look) {
  bool first = !std::exchange(began_, true);
  if (!first && (!look.exists || look == known_)) return false;
  known_ = look;
  return !first;
}

void FolderAlarm::arm(const std::string& path) {
  if (!inotify_) inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  std::string folder = path.substr(0, path.rfind('/'));
  if (!inotify_ || folder.empty()) return;
  armed_ = ::inotify_add_watch(inotify_.number(), folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) >= 0;
}

void FolderAlarm::drain() {
  char events[4096];
  constexpr int kReadsMax = 64;  // a busy folder must not hold us here
  for (int reads = 0; reads < kReadsMax && ::read(inotify_.number(), events, sizeof events) > 0; ++reads) {
  }
}

void ActivityMeter::add(std::optional<std::string> text, Duration wall) {
  std::optional<int64_t> milli_percent = text ? parse_activity(*text) : std::nullopt;
  if (!milli_percent || wall.us <= 0) return;
  declared_us_ += wall.us * *milli_percent / 100'000;
  wall_us_ += wall.us;
}

std::optional<int64_t> parse_activity(std::string_view text) {
  size_t end = text.find_first_of(" \t\r\n%");
  if (end != text.npos) text = text.substr(0, end);
  size_t point = text.find('.');
  if (point != text.npos) text = text.substr(0, point + 4);  // finer than thousandths does not matter
  Result<int64_t> milli = parse_milli(text);
  if (!milli) return std::nullopt;
  return std::min<int64_t>(*milli, 100'000);
}

bool exists_in(const Fd& folder, const std::string& name) {
  struct stat facts {};
  return ::fstatat(folder.number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace moulin
