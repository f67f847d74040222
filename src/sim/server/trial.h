// One run in a process of its own, so that one that aborts or hangs is a result, too.
#pragma once

#include <string>
#include <vector>

#include "sim/server/server_run.h"

namespace moulin::sim {

// What is known of a run that has ended, however it ended.
struct Trial {
  std::string checker{};  // empty: all went well; "abort": a check of the server itself, or a crash
  std::string text{};
  int64_t events = 0;
  int64_t requests = 0;
  int64_t lives = 0;
  std::string hash{};
  std::string tail{};  // lines
};

// The arguments that make the same run again.
std::vector<std::string> arguments_of(const RunOptions& options);
std::string command_line(const RunOptions& options);

// Runs it here and prints the result for try_run().
void run_for_parent(const RunOptions& options);

// Starts `program` for it and waits, for a quarter of an hour at most.
Trial try_run(const std::string& program, const RunOptions& options);

// The smallest run found that still fails by the same checker: fewer faults, fewer users,
// fewer events. At most `trials_max` runs.
struct Shrunk {
  RunOptions options;
  Trial trial;
  int trials = 0;
};
Shrunk shrink(const std::string& program, const RunOptions& options, const Trial& failed, int trials_max);

}  // namespace moulin::sim
