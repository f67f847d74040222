#include "shim/process_info.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr Bytes kProcFileMax = mebibytes(4);

int64_t number_of(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Duration ticks(std::string_view text) {
  static const int64_t per_second = ::sysconf(_SC_CLK_TCK);
  return microseconds(number_of(text) * 1'000'000 / per_second);
}

// Calls `visit` with each name in a folder that is a number.
template <class Visit>
void each_number_in(const std::string& path, Visit visit) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (int64_t number = number_of(entry->d_name); number > 0) visit(number);
  }
}

void append_numbers(std::string_view text, std::vector<int64_t>& numbers) {
  for (std::string_view word : split(text, ' ')) {
    if (int64_t number = number_of(word); number > 0) numbers.push_back(number);
  }
}

}  // namespace

Result<ProcessFacts> parse_process_stat(std::string_view text) {
  // The name of the program stands in brackets and may itself hold brackets and blanks.
  size_t open = text.find('(');
  size_t close = text.rfind(')');
  Error damaged{.code = Code::kInvalid, .message = "not the text of a /proc/PID/stat"};
  if (open == text.npos || close == text.npos || close + 2 > text.size()) return damaged;
  std::vector<std::string_view> field = split(text.substr(close + 2), ' ');
  if (field.size() < 22 || field[0].empty()) return damaged;
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  return ProcessFacts{.pid = number_of(text.substr(0, open)),
                      .parent = number_of(field[1]),
                      .state = field[0][0],
                      .session = number_of(field[3]),
                      .cpu = ticks(field[11]) + ticks(field[12]),
                      .cpu_of_waited = ticks(field[13]) + ticks(field[14]),
                      .tasks = number_of(field[17]),
                      .start_time = number_of(field[19]),
                      .resident = Bytes{number_of(field[21]) * page}};
}

Result<ProcessFacts> process_facts(int64_t pid) {
  Result<std::string> text = read_file_at(fmt::format("/proc/{}/stat", pid), kProcFileMax);
  if (!text) {
    return Error{.code = Code::kNotFound, .message = fmt::format("there is no process {}", pid)};
  }
  return parse_process_stat(*text);
}

std::string boot_id() {
  Result<std::string> text = read_file_at("/proc/sys/kernel/random/boot_id", kProcFileMax);
  if (!text) return "unknown";
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

Result<ProcessIdentity> process_identity(int64_t pid) {
  ProcessFacts facts = TRY(process_facts(pid));
  return ProcessIdentity{.boot_id = boot_id(), .pid = pid, .start_time = facts.start_time};
}

bool still_runs(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != boot_id()) return false;
  Result<ProcessFacts> facts = process_facts(identity.pid);
  return facts && facts->start_time == identity.start_time && facts->state != 'Z' && facts->state != 'X';
}

std::vector<int64_t> children_of(int64_t pid) {
  std::vector<int64_t> children;
  bool listed = true;
  each_number_in(fmt::format("/proc/{}/task", pid), [&](int64_t task) {
    Result<std::string> text = read_file_at(fmt::format("/proc/{}/task/{}/children", pid, task), kProcFileMax);
    if (text) append_numbers(*text, children);
    else if (::access(fmt::format("/proc/{}/task/{}/stat", pid, task).c_str(), F_OK) == 0) listed = false;
  });
  if (listed) return children;
  each_number_in("/proc", [&](int64_t other) {
    Result<ProcessFacts> facts = process_facts(other);
    if (facts && facts->parent == pid) children.push_back(other);
  });
  return children;
}

TreeSample sample_tree(int64_t root) {
  TreeSample sample;
  if (Result<ProcessFacts> facts = process_facts(root)) sample.cpu += facts->cpu_of_waited;
  std::vector<int64_t> pids = children_of(root);
  for (size_t next = 0; next < pids.size() && pids.size() < kTreeProcessesMax; ++next) {
    Result<ProcessFacts> facts = process_facts(pids[next]);
    if (!facts) continue;
    sample.cpu += facts->cpu + facts->cpu_of_waited;
    if (facts->state == 'Z') continue;
    sample.resident += facts->resident;
    sample.tasks += facts->tasks;
    sample.pids.push_back(pids[next]);
    for (int64_t child : children_of(pids[next])) pids.push_back(child);
  }
  return sample;
}

Bytes proportional_memory(const std::vector<int64_t>& pids) {
  Bytes sum;
  for (int64_t pid : pids) {
    Result<std::string> text = read_file_at(fmt::format("/proc/{}/smaps_rollup", pid), kProcFileMax);
    if (!text) continue;
    size_t line = text->find("\nPss:");
    if (line == text->npos) continue;
    size_t digit = text->find_first_of("0123456789", line);
    if (digit != text->npos) sum += kibibytes(number_of(std::string_view(*text).substr(digit)));
  }
  return sum;
}

Instant boot_time_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant{static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000};
}

}  // namespace moulin
