// How much of its GPU grants a replica really used.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "model/grant.h"
#include "model/report.h"

namespace moulin {

// What is known of a replica between two measurements.
struct ActivityPeriod {
  const ReplicaKey& key;
  const std::vector<Grant>& grants;
  const std::vector<int64_t>& pids;  // of its processes at the end of the period; empty at its end
  Duration wall{};                   // length of the period
  Duration cpu{};                    // CPU time used in it
  Duration declared{};               // wall time x activity that the program declared
  Duration declared_wall{};          // wall time for which it declared any
};

// Called on the engine's thread; must not block.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  // Device time in this period that did work, weighted by share: a replica with a quarter
  // of a device that kept its quarter busy for 60 s used 15 s. From 0 to wall x shares.
  virtual Duration active(const ActivityPeriod& period) = 0;
  // The replica is over; forget it.
  virtual void forget(const ReplicaKey&) {}
};

// For simulated devices: what the program declares in its activity file, and where it
// declares nothing its CPU use, one busy core for one device, at most its share.
class DeclaredActivity : public ActivitySource {
 public:
  Duration active(const ActivityPeriod& period) override;
};

// wall x the sum of shares.
Duration held_time(Duration wall, const std::vector<Grant>& grants);

}  // namespace moulin
