#include "shim/usage_meter.h"

#include <algorithm>

#include "shim/files.h"
#include "shim/process_info.h"

namespace moulin {

namespace {
constexpr Bytes kActivityFileMax{64};
}  // namespace

UsageMeter::UsageMeter(Subject subject, ShimLimits watched, Instant start)
    : subject_(subject), watch_(watched), start_(start), next_(start), activity_at_(start) {}

std::optional<std::string> UsageMeter::look(Instant now) {
  if (now < next_) return std::nullopt;
  TreeSample sample = sample_tree(subject_.root);
  if (watch_.suspects_memory(sample.resident)) {
    if (Bytes exact = proportional_memory(sample.pids); exact.count > 0) sample.resident = exact;
  }
  std::optional<Duration> cgroup_cpu = subject_.cgroup != nullptr ? subject_.cgroup->cpu() : std::nullopt;
  usage_.cpu = std::max({usage_.cpu, sample.cpu, cgroup_cpu.value_or(Duration{})});
  usage_.memory_peak = std::max(usage_.memory_peak, sample.resident);
  usage_.wall = now - start_;
  usage_.pids = std::move(sample.pids);
  if (usage_.pids.size() > kUsagePidsMax) usage_.pids.resize(kUsagePidsMax);
  add_activity(now);
  Duration cost = boot_time_now() - now;
  next_ = now + std::max(watch_.watches() ? LimitWatch::kInterval : kInterval, cost * kCostShareMax);
  return watch_.judge({.at = now, .cpu = usage_.cpu, .memory = sample.resident, .tasks = sample.tasks});
}

void UsageMeter::close(Instant now, Duration cpu, Bytes largest) {
  std::optional<Duration> cgroup_cpu = subject_.cgroup != nullptr ? subject_.cgroup->cpu() : std::nullopt;
  std::optional<Bytes> cgroup_peak = subject_.cgroup != nullptr ? subject_.cgroup->memory_peak() : std::nullopt;
  usage_.cpu = std::max({usage_.cpu, cpu, cgroup_cpu.value_or(Duration{})});
  usage_.memory_peak = cgroup_peak ? *cgroup_peak : std::max(usage_.memory_peak, largest);
  usage_.wall = now - start_;
  usage_.pids.clear();
  add_activity(now);
}

void UsageMeter::add_activity(Instant now) {
  Result<std::string> text = read_file_in(subject_.exchange, attempt_files::kActivity, kActivityFileMax);
  activity_.add(text ? std::optional(*text) : std::nullopt, now - activity_at_);
  activity_at_ = now;
  usage_.declared = activity_.declared();
  usage_.declared_wall = activity_.declared_wall();
}

}  // namespace moulin
