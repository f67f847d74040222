// The order in which the workloads of one project are served, and in which those that
// run are protected.
//
// Served: class; priority plus one step for each hour of waiting, at most the top of its
// class; resumed before fresh; age; id. Hours are the whole hours of the server's time,
// so that waiting never reorders two workloads, except at the top: see served_at().
#pragma once

#include <compare>

#include "model/workload.h"

namespace moulin {

inline constexpr int64_t kPriorityTop = 1000;  // of a class; the highest one may declare

enum class Origins { kResumed, kFresh };  // resumed workloads come first

int64_t hour_of(Instant at);

// Place of a waiting workload; the smallest is served first.
struct WaitKey {
  Class priority_class = Class::kTraining;
  int64_t level = 0;  // hour since which it waits, less its priority
  Origins origin = Origins::kFresh;
  Instant submitted{};
  WorkloadId id{};
  auto operator<=>(const WaitKey&) const = default;
};

// Requires a waiting workload.
WaitKey wait_key(const Workload& workload);

// Its priority with the steps that it has gained by waiting until `now`.
int64_t effective_priority(const WaitKey& key, Instant now);

// Whether `a` is served before `b` at `now`. Differs from the order of the keys only
// between workloads that have both reached the top of their class.
bool is_served_before(const WaitKey& a, const WaitKey& b, Instant now);

// Place of a live workload among those of its project: the smallest fills the guarantee
// first and is evicted last.
struct HoldKey {
  Class priority_class = Class::kTraining;
  int64_t lowness = 0;  // less its declared priority
  Instant submitted{};
  WorkloadId id{};
  auto operator<=>(const HoldKey&) const = default;
};
HoldKey hold_key(const Workload& workload);

}  // namespace moulin
