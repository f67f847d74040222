#include "engine/local/leftovers.h"

#include <dirent.h>
#include <signal.h>

#include <charconv>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "shim/cgroup.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr int kEmptyScans = 2;
constexpr Bytes kEnvironmentMax = mebibytes(4);

// Processes whose environment holds this variable.
std::vector<int64_t> processes_with(const std::string& variable) {
  std::vector<int64_t> found;
  std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    std::string_view name = entry->d_name;
    int64_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    Result<std::string> environment = read_file_at(fmt::format("/proc/{}/environ", pid), kEnvironmentMax);
    if (!environment) continue;
    std::string text = '\0' + *environment;
    if (text.find('\0' + variable + '\0') != text.npos) found.push_back(pid);
  }
  return found;
}

}  // namespace

bool Leftovers::end(Instant now) {
  if (identity_.shim.boot_id != boot_id()) return true;
  if (!end_cgroup()) return false;
  if (still_runs(identity_.guard)) {
    bool exact = identity_.containment == ContainmentKind::kPidNamespace;
    if (exact || now - since_ > kGuardPatience) ::kill(static_cast<pid_t>(identity_.guard.pid), SIGKILL);
    return false;
  }
  return identity_.containment != ContainmentKind::kSubreaper || end_marked();
}

bool Leftovers::end_cgroup() const {
  if (identity_.cgroup.empty()) return true;
  Result<Cgroup> group = Cgroup::open(identity_.cgroup);
  if (!group) return group.error().code == Code::kNotFound;
  (void)group->kill();
  return !group->populated() && group->remove().has_value();
}

bool Leftovers::end_marked() {
  if (identity_.mark.empty()) return true;
  std::vector<int64_t> found = processes_with("MOULIN_MARK=" + identity_.mark);
  for (int64_t pid : found) ::kill(static_cast<pid_t>(pid), SIGKILL);
  empty_scans_ = found.empty() ? empty_scans_ + 1 : 0;
  return empty_scans_ >= kEmptyScans;
}

}  // namespace moulin
