// Sums the activity of processes over looks, so that nobody has to look as often as we do.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "engine/gpu/reading.h"

namespace moulin {

// For one thread. Keeps what it knows of processes that are there, and of no others.
class ActivityTotals {
 public:
  // After a longer gap (a driver that hung) only this much counts.
  static constexpr Duration kGapMax = minutes(1);

  // Fills GpuProcess::active. What a process shows now counts for the whole time since the
  // look before; in the first look it counts nothing.
  void add(std::vector<GpuReading>& readings, Instant now);

 private:
  using Where = std::pair<GpuUuid, int64_t>;  // device and pid
  std::map<Where, Duration> totals_;
  std::optional<Instant> before_;
};

}  // namespace moulin
