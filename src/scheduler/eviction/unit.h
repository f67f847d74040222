// What can leave by itself, and what that costs.
#pragma once

#include <set>
#include <vector>

#include "scheduler/overlay.h"

namespace moulin {

struct ReplicaRef {
  WorkloadId workload{};
  ReplicaIndex replica{};
  auto operator<=>(const ReplicaRef&) const = default;
};
// Replicas that the plan in the making has asked to leave.
using Departures = std::set<ReplicaRef>;

// Smaller is cheaper. A set costs the sum of its units.
struct EvictionCost {
  int64_t whole_lost = 0;    // weighted GPU time of attempts that end, in millionths of a GPU-second
  int64_t wholes = 0;        // attempts that end: surplus replicas go first
  int64_t surplus_lost = 0;  // GPU time, as above, of surplus replicas
  int64_t count = 0;
  int64_t oldest = 0;  // less the time at which the oldest of them was placed: the newest go first
  auto operator<=>(const EvictionCost&) const = default;
  EvictionCost& operator+=(const EvictionCost& other);
};

enum class UnitKind {
  kLeaving,  // replicas of one attempt that leave already, and are not stuck: they cost nothing
  kSurplus,  // one surplus replica
  kWhole,    // all replicas of a live attempt that stay
};

struct Unit {
  const Workload* workload = nullptr;
  UnitKind kind = UnitKind::kWhole;
  std::vector<const Replica*> replicas{};  // that leave with it
  EvictionCost cost{};
  Share gpu{};
  CpuMilli cpu{};
  Hold hold() const { return kind == UnitKind::kLeaving ? Hold::kLeaving : Hold::kHeld; }
};

// Work that would be lost: GPU time since the newest checkpoint or the start, for
// workloads without checkpoints at most kLostMax for each device, so that nobody gains by
// not having any; plus kRestart of it for saving and restarting; times a weight of the
// class: batch 1, development 2, training 4.
inline constexpr Duration kLostMax = hours(1);
inline constexpr Duration kRestart = minutes(1);

// The units of a live workload: what leaves already, then its surplus replicas, the last
// first, then the whole of what stays.
std::vector<Unit> units_of(const Workload& workload, const Departures& departures, Instant now);

// Whether it was asked to leave so long ago that nobody waits for it any more: its node
// does not answer. It holds its place until somebody tells that it is gone.
bool is_stuck(const Workload& workload, const Replica& replica, Instant now);

// Whether a replica of a live workload holds its place and was not asked to leave.
bool stays(const Workload& workload, const Replica& replica, const Departures& departures);

}  // namespace moulin
