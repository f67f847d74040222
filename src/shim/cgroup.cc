#include "shim/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr Bytes kTextMax = mebibytes(4);
constexpr int64_t kPeriodUs = 100'000;

// mountinfo writes blanks, tabs, newlines and backslashes as \ and three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool octal = text[i] == '\\' && i + 3 < text.size() + 0 && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (!octal) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

}  // namespace

std::optional<std::string> cgroup_mount(std::string_view mountinfo) {
  for (std::string_view line : split(mountinfo, '\n')) {
    size_t separator = line.find(" - ");
    if (separator == line.npos) continue;
    std::vector<std::string_view> type = split(line.substr(separator + 3), ' ');
    std::vector<std::string_view> field = split(line.substr(0, separator), ' ');
    if (!type.empty() && type[0] == "cgroup2" && field.size() > 4) return unescaped(field[4]);
  }
  return std::nullopt;
}

std::optional<std::string> cgroup_own_path(std::string_view proc_cgroup) {
  for (std::string_view line : split(proc_cgroup, '\n')) {
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  }
  return std::nullopt;
}

Result<std::string> prepare_cgroup_parent() {
  std::optional<std::string> mount = cgroup_mount(TRY(read_file_at("/proc/self/mountinfo", kTextMax)));
  std::optional<std::string> own = cgroup_own_path(TRY(read_file_at("/proc/self/cgroup", kTextMax)));
  if (!mount || !own) return Error{.code = Code::kUnavailable, .message = "cgroup v2 is not mounted"};
  std::string above = *own == "/" ? *mount : *mount + *own;
  std::string parent = above + "/moulin";
  if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_error(fmt::format("make the cgroup {}", parent), errno);
  }
  // Each of these may be refused, and then that limit is watched instead.
  for (const std::string& group : {above, parent}) {
    Fd file(::open((group + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) continue;
    for (std::string_view controller : {"+cpu", "+memory", "+pids"}) (void)write_all(file, controller);
  }
  return parent;
}

Result<Cgroup> Cgroup::make(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_error(fmt::format("make the cgroup {}", path), errno);
  }
  return open(path);
}

Result<Cgroup> Cgroup::open(const std::string& path) {
  return Cgroup(TRY(open_folder(path)), path);
}

Status Cgroup::write(const char* file, std::string_view value) const {
  Fd opened(::openat(folder_.number(), file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened) return system_error(fmt::format("open {}/{}", path_, file), errno);
  return write_all(opened, value);
}

std::optional<int64_t> Cgroup::read_number(const char* file, std::string_view key) const {
  Result<std::string> text = read_file_in(folder_, file, kTextMax);
  if (!text) return std::nullopt;
  for (std::string_view line : split(*text, '\n')) {
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    int64_t value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

CgroupLimits Cgroup::limit(const ShimLimits& limits) const {
  CgroupLimits enforced;
  if (limits.cpu.milli > 0) {
    std::string value = fmt::format("{} {}", limits.cpu.milli * kPeriodUs / 1000, kPeriodUs);
    enforced.cpu = write("cpu.max", value).has_value();
  }
  if (limits.memory.count > 0) {
    enforced.memory = write("memory.max", fmt::format("{}", limits.memory.count)).has_value();
    (void)write("memory.swap.max", "0");
    (void)write("memory.oom.group", "1");
  }
  if (limits.tasks > 0) enforced.tasks = write("pids.max", fmt::format("{}", limits.tasks)).has_value();
  return enforced;
}

Status Cgroup::kill() const { return write("cgroup.kill", "1"); }

bool Cgroup::populated() const { return read_number("cgroup.events", "populated ").value_or(1) != 0; }

std::optional<Duration> Cgroup::cpu() const {
  std::optional<int64_t> used = read_number("cpu.stat", "usage_usec ");
  return used ? std::optional(microseconds(*used)) : std::nullopt;
}

std::optional<Bytes> Cgroup::memory_peak() const {
  std::optional<int64_t> peak = read_number("memory.peak", "");
  return peak ? std::optional(Bytes{*peak}) : std::nullopt;
}

// Members also die when the whole machine, or a group above us, has no memory left:
// `oom_kill` counts that as well, `oom` only counts a limit that was reached. The local
// file leaves out limits that a program gave to groups of its own below.
bool Cgroup::hit_memory_limit() const {
  if (read_number("memory.events", "oom_kill ").value_or(0) == 0) return false;
  std::optional<int64_t> own = read_number("memory.events.local", "oom ");
  return (own ? own : read_number("memory.events", "oom ")).value_or(0) > 0;
}

Status Cgroup::remove() const {
  // Programs may have made groups of their own in ours; the depth is small.
  if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return {};
  int number = errno;
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path_.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    Result<Cgroup> below = open(path_ + "/" + entry->d_name);
    if (below) (void)below->remove();
  }
  if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return {};
  return system_error(fmt::format("remove the cgroup {}", path_), number);
}

}  // namespace moulin
