#include "engine/gpu/activity_totals.h"

#include <algorithm>

namespace moulin {

namespace {

// Thousandths of the device's time that the process worked, as far as anybody knows.
std::optional<int64_t> active_milli(const GpuSample& sample, const GpuProcess& process) {
  if (process.active_milli) return *process.active_milli;
  if (sample.active_milli) return *sample.active_milli / std::ssize(sample.processes);
  return std::nullopt;
}

}  // namespace

void ActivityTotals::add(std::vector<GpuReading>& readings, Instant now) {
  Duration elapsed = before_ ? std::clamp(now - *before_, Duration{}, kGapMax) : Duration{};
  before_ = now;
  std::map<Where, Duration> totals;
  for (GpuReading& reading : readings) {
    for (GpuProcess& process : reading.sample.processes) {
      std::optional<int64_t> milli = active_milli(reading.sample, process);
      if (!milli) continue;
      Where where{reading.sample.uuid, process.pid};
      auto before = totals_.find(where);
      Duration total = before == totals_.end() ? Duration{} : before->second;
      total.us += elapsed.us / 1000 * *milli;
      totals.emplace(std::move(where), total);
      process.active = total;
    }
  }
  totals_ = std::move(totals);
}

}  // namespace moulin
