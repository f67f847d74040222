#include "engine/gpu/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "base/text.h"
#include "shim/files.h"

namespace moulin {

namespace {

constexpr size_t kCgroupDepthMax = 32;
constexpr Bytes kTextMax = mebibytes(1);

std::optional<int64_t> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> number_in(const std::string& path) {
  Result<std::string> text = read_file_at(path, kTextMax);
  return text ? number(*text) : std::nullopt;
}

// "a,b,c" has "b".
bool lists(std::string_view list, std::string_view word) {
  std::vector<std::string_view> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Mount {
  std::string_view root;   // the part of the hierarchy that is mounted
  std::string_view point;  // where
};

// The mount of a controller, or of version 2 when `controller` is empty.
std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view controller) {
  for (std::string_view line : split(mountinfo, '\n')) {
    size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::vector<std::string_view> before = split(line.substr(0, separator), ' ');
    std::vector<std::string_view> after = split(line.substr(separator + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    bool fits = controller.empty() ? after[0] == "cgroup2" : after[0] == "cgroup" && lists(after[2], controller);
    if (fits) return Mount{.root = before[3], .point = before[4]};
  }
  return std::nullopt;
}

// "4:cpu,cpuacct:/a/b" for a controller, "0::/a/b" for version 2.
std::optional<std::string_view> find_path(std::string_view cgroup, std::string_view controller) {
  for (std::string_view line : split(cgroup, '\n')) {
    size_t first = line.find(':');
    size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view list = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() : lists(list, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

void add_folders(std::string_view cgroup, std::string_view mountinfo, std::string_view controller,
                 std::vector<std::string>& folders) {
  std::optional<Mount> mount = find_mount(mountinfo, controller);
  std::optional<std::string_view> path = find_path(cgroup, controller);
  if (!mount || !path) return;
  // In a container the path may start with the part that is mounted, or lie outside it.
  std::string_view inside = *path;
  if (mount->root != "/" && inside.starts_with(mount->root)) inside.remove_prefix(mount->root.size());
  if (inside.starts_with("/..")) inside = "";
  for (size_t i = 0; i < kCgroupDepthMax; ++i) {
    while (inside.ends_with('/')) inside.remove_suffix(1);
    folders.push_back(std::string(mount->point) + std::string(inside));
    if (inside.empty()) return;
    inside = inside.substr(0, inside.rfind('/'));
  }
}

// A quota in thousandths of a core: version 2 writes "max 100000" or "250000 100000".
std::optional<int64_t> cpu_quota(const std::string& folder) {
  std::optional<int64_t> quota, period;
  if (Result<std::string> text = read_file_at(folder + "/cpu.max", kTextMax)) {
    std::vector<std::string_view> words = split(*text, ' ');
    if (words.size() != 2) return std::nullopt;
    quota = number(words[0]);
    period = number(words[1]);
  } else {
    quota = number_in(folder + "/cpu.cfs_quota_us");
    period = number_in(folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0 || *quota > INT64_MAX / 1000) return std::nullopt;
  return std::max<int64_t>(*quota * 1000 / *period, 1);
}

// Version 2 writes "max" for none; version 1 an enormous number, which the minimum drops.
std::optional<int64_t> memory_limit(const std::string& folder) {
  std::optional<int64_t> limit = number_in(folder + "/memory.max");
  if (!limit) limit = number_in(folder + "/memory.limit_in_bytes");
  return limit && *limit > 0 ? limit : std::nullopt;
}

// Cores that the scheduler may put us on. The mask grows until it fits the machine's.
int64_t allowed_cores() {
  for (int cores = 1024; cores <= 1 << 17; cores *= 2) {
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cores), [](cpu_set_t* it) { CPU_FREE(it); });
    size_t size = CPU_ALLOC_SIZE(cores);
    if (set == nullptr) break;
    if (sched_getaffinity(0, size, set.get()) == 0) return CPU_COUNT_S(size, set.get());
  }
  return std::max<int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

std::string text_or_empty(const std::string& path) { return read_file_at(path, kTextMax).value_or(""); }

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace

CgroupFolders find_cgroups(std::string_view cgroup, std::string_view mountinfo) {
  CgroupFolders folders;
  add_folders(cgroup, mountinfo, "cpu", folders.cpu);
  add_folders(cgroup, mountinfo, "", folders.cpu);
  add_folders(cgroup, mountinfo, "memory", folders.memory);
  add_folders(cgroup, mountinfo, "", folders.memory);
  return folders;
}

Result<Bytes> parse_memory_total(std::string_view meminfo) {
  constexpr std::string_view kLabel = "MemTotal:";
  for (std::string_view line : split(meminfo, '\n')) {
    if (!line.starts_with(kLabel) || !line.ends_with(" kB")) continue;
    line = line.substr(kLabel.size(), line.size() - kLabel.size() - 3);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::optional<int64_t> kib = number(line);
    if (kib && *kib > 0 && *kib < INT64_MAX / 1024) return kibibytes(*kib);
  }
  return Error{.code = Code::kInternal, .message = "no MemTotal in /proc/meminfo", .given = shortened(meminfo)};
}

Result<HostFacts> host_facts(const std::string& proc_folder) {
  HostFacts facts;
  facts.name = first_line(text_or_empty(proc_folder + "/sys/kernel/hostname"));
  if (facts.name.empty()) facts.name = "localhost";
  facts.boot_id = first_line(text_or_empty(proc_folder + "/sys/kernel/random/boot_id"));
  std::string meminfo = TRY(read_file_at(proc_folder + "/meminfo", kTextMax));
  facts.memory = TRY(parse_memory_total(meminfo));
  facts.cpu = CpuMilli{allowed_cores() * 1000};
  CgroupFolders folders =
      find_cgroups(text_or_empty(proc_folder + "/self/cgroup"), text_or_empty(proc_folder + "/self/mountinfo"));
  for (const std::string& folder : folders.cpu) {
    if (std::optional<int64_t> quota = cpu_quota(folder)) facts.cpu = std::min(facts.cpu, CpuMilli{*quota});
  }
  for (const std::string& folder : folders.memory) {
    if (std::optional<int64_t> limit = memory_limit(folder)) facts.memory = std::min(facts.memory, Bytes{*limit});
  }
  return facts;
}

}  // namespace moulin
