#include "shim/limit_watch.h"

#include <fmt/format.h>

namespace moulin {
namespace {

constexpr int kSamplesOver = 2;
constexpr Duration kPointDistance = seconds(1);

std::string mebibytes_text(Bytes bytes) { return fmt::format("{} MiB", (bytes.count + (1 << 20) - 1) >> 20); }

}  // namespace

std::string memory_limit_text(Bytes used, Bytes allowed) {
  return fmt::format("memory limit exceeded: {} in use, {} allowed; ask for more in `resources.memory`, or use less",
                     mebibytes_text(used), mebibytes_text(allowed));
}

std::optional<std::string> LimitWatch::judge(const LimitSample& sample) {
  memory_over_ = suspects_memory(sample.memory) ? memory_over_ + 1 : 0;
  if (memory_over_ >= kSamplesOver) return memory_limit_text(sample.memory, limits_.memory);
  tasks_over_ = limits_.tasks > 0 && sample.tasks > limits_.tasks ? tasks_over_ + 1 : 0;
  if (tasks_over_ >= kSamplesOver) {
    return fmt::format("task limit exceeded: {} processes and threads, {} allowed; start fewer, or have the limit "
                       "raised", sample.tasks, limits_.tasks);
  }
  return judge_cpu(sample);
}

std::optional<std::string> LimitWatch::judge_cpu(const LimitSample& sample) {
  if (limits_.cpu.milli == 0) return std::nullopt;
  if (window_.empty() || sample.at - window_.back().at >= kPointDistance) {
    window_.push_back({.at = sample.at, .cpu = sample.cpu});
  }
  if (sample.at - window_.front().at < kCpuWindow) return std::nullopt;
  Duration wall = sample.at - window_.front().at;
  int64_t milli = (sample.cpu - window_.front().cpu).us * 1000 / wall.us;
  window_.pop_front();
  if (milli <= limits_.cpu.milli + limits_.cpu.milli / 10) return std::nullopt;
  return fmt::format("CPU limit exceeded: {} cores over {} s, {} allowed; ask for more in `resources.cpu`, or start "
                     "fewer threads (OMP_NUM_THREADS)",
                     to_text(CpuMilli{milli}), wall.us / 1'000'000, to_text(limits_.cpu));
}

}  // namespace moulin
