#include "engine/gpu/measured_activity.h"

#include <algorithm>
#include <optional>

#include "base/wide.h"

namespace moulin {

namespace {

using Counted = std::map<std::pair<GpuUuid, int64_t>, Duration>;

// Device time of the replica's processes on one device since it was counted last; nothing
// when it cannot be known.
std::optional<Duration> on_device(const GpuSample& sample, const std::vector<int64_t>& pids, Counted& counted) {
  if (!sample.processes_known) return std::nullopt;
  Duration sum;
  for (const GpuProcess& process : sample.processes) {
    if (std::find(pids.begin(), pids.end(), process.pid) == pids.end()) continue;
    if (!process.active) return std::nullopt;
    Duration& before = counted[{sample.uuid, process.pid}];
    // Less than before: another process with this pid, which began anew.
    sum += *process.active < before ? *process.active : *process.active - before;
    before = *process.active;
  }
  return sum;
}

}  // namespace

Duration MeasuredActivity::active(const ActivityPeriod& period) {
  Known& known = known_[period.key];
  Duration wall = std::max(period.wall, Duration{});
  Duration sum;
  if (period.pids.empty()) {
    if (known.wall.us > 0) sum.us = static_cast<int64_t>(static_cast<Wide>(known.active.us) * wall.us / known.wall.us);
    return std::min(sum, held_time(wall, period.grants));
  }
  std::shared_ptr<const GpuSamples> samples = looks_();
  for (const Grant& grant : period.grants) {
    Duration held = held_time(wall, {grant});
    const GpuSample* sample = samples->find(grant.gpu);
    std::optional<Duration> measured =
        sample == nullptr ? std::nullopt : on_device(*sample, period.pids, known.counted);
    sum += std::min(measured.value_or(held), held);
  }
  known.active = sum;
  known.wall = wall;
  return sum;
}

}  // namespace moulin
