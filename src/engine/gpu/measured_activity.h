// How much of its grants a replica used, as the driver measures it. For real devices.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "boundary/gpus.h"
#include "engine/local/activity.h"

namespace moulin {

// A process is the replica's when its pid is among ActivityPeriod::pids. What cannot be
// measured (the driver lists no processes, MIG) counts as used, because nobody may lose a
// device for idleness that we only fail to see. At the end of a replica, when its
// processes are gone, the rate of the period before counts. Work of a process that came
// and went between two periods is lost.
class MeasuredActivity : public ActivitySource {
 public:
  // `looks` as Gpus::looks().
  explicit MeasuredActivity(std::function<std::shared_ptr<const GpuSamples>()> looks) : looks_(std::move(looks)) {}

  Duration active(const ActivityPeriod& period) override;
  void forget(const ReplicaKey& replica) override { known_.erase(replica); }

 private:
  struct Known {
    std::map<std::pair<GpuUuid, int64_t>, Duration> counted{};  // device and pid: what was counted
    Duration active{};                                          // in the last period
    Duration wall{};                                            // its length
  };
  std::function<std::shared_ptr<const GpuSamples>()> looks_;
  std::map<ReplicaKey, Known> known_;
};

}  // namespace moulin
