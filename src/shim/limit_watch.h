// Judges samples of a process tree against limits that the kernel does not enforce here.
// Pure: samples come in, a verdict comes out.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/instant.h"
#include "shim/launch.h"

namespace moulin {

struct LimitSample {
  Instant at;
  Duration cpu{};  // used so far
  Bytes memory{};  // in use now
  int64_t tasks = 0;
};

// Memory and tasks: over the limit in two samples in a row, since a sample that is taken
// while processes come and go may count one twice. CPU: the mean over kCpuWindow more
// than a tenth above the limit; bursts are free, as they harm nobody for long.
class LimitWatch {
 public:
  explicit LimitWatch(ShimLimits limits) : limits_(limits) {}

  bool watches() const { return limits_.cpu.milli > 0 || limits_.memory.count > 0 || limits_.tasks > 0; }
  // Is this memory worth a slower, exact look before it is judged?
  bool suspects_memory(Bytes memory) const { return limits_.memory.count > 0 && memory > limits_.memory; }

  // The sentence for the user when a limit was crossed: which, what was used, what is
  // allowed and what to do. Samples come in order of time.
  std::optional<std::string> judge(const LimitSample& sample);

  static constexpr Duration kCpuWindow = seconds(30);
  static constexpr Duration kInterval = milliseconds(250);  // between samples

 private:
  std::optional<std::string> judge_cpu(const LimitSample& sample);

  struct CpuPoint {
    Instant at;
    Duration cpu;
  };
  ShimLimits limits_;
  int memory_over_ = 0;
  int tasks_over_ = 0;
  std::deque<CpuPoint> window_;  // a point a second, at most one more than kCpuWindow
};

// The sentence for a memory limit that the kernel enforced.
std::string memory_limit_text(Bytes used, Bytes allowed);

}  // namespace moulin
