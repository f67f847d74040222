// What /proc says about processes of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"

namespace moulin {

// Tells a process from a later one with the same number, also after a restart of the
// machine.
struct ProcessIdentity {
  std::string boot_id{};   // of the machine's current start
  int64_t pid = 0;         // 0: no process
  int64_t start_time = 0;  // clock ticks since the machine started
  bool operator==(const ProcessIdentity&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "boot_id", self.boot_id);
    visit(2, "pid", self.pid);
    visit(3, "start_time", self.start_time);
  }
};

// One process as of now.
struct ProcessFacts {
  int64_t pid = 0;
  int64_t parent = 0;
  char state = '?';           // as in proc(5): R, S, D, Z ...
  int64_t session = 0;
  Duration cpu{};             // of itself
  Duration cpu_of_waited{};   // of its ended children that it has waited for, and theirs
  int64_t tasks = 0;          // threads
  int64_t start_time = 0;     // clock ticks since the machine started
  Bytes resident{};
};

// kNotFound when there is no such process.
Result<ProcessFacts> process_facts(int64_t pid);
// The facts in the text of a /proc/PID/stat; kInvalid when it is none.
Result<ProcessFacts> parse_process_stat(std::string_view text);

std::string boot_id();
Result<ProcessIdentity> process_identity(int64_t pid);
// A zombie does not run any more.
bool still_runs(const ProcessIdentity& identity);

// The direct children of a process, of all its threads, as they are listed now. Zombies
// count. Falls back to a scan of /proc where the kernel keeps no lists of children.
std::vector<int64_t> children_of(int64_t pid);

// A process with all its descendants, without the root itself.
struct TreeSample {
  Duration cpu{};     // of those that live and of those that were waited for, root's included
  Bytes resident{};   // shared pages count in each process
  int64_t tasks = 0;
  std::vector<int64_t> pids{};
};
inline constexpr size_t kTreeProcessesMax = 65'536;  // further ones are not looked at
TreeSample sample_tree(int64_t root);

// Memory with shared pages divided among those who share them. Slow: milliseconds for
// large processes. Processes that cannot be read count 0.
Bytes proportional_memory(const std::vector<int64_t>& pids);

// The time that the machine has been up, suspended or not.
Instant boot_time_now();

}  // namespace moulin
