#include "scheduler/queue.h"

#include <algorithm>
#include <tuple>

namespace moulin {

namespace {

Origins origin_of(const Workload& workload) {
  if (workload.attempts.empty()) return Origins::kFresh;
  switch (workload.attempts.back().outcome) {
    case Outcome::kPreempted:
    case Outcome::kPaused:
    case Outcome::kNodeLost: return Origins::kResumed;
    case Outcome::kNone:
    case Outcome::kSucceeded:
    case Outcome::kFailed:
    case Outcome::kStopped: return Origins::kFresh;
  }
  MOULIN_UNREACHABLE();
}

}  // namespace

int64_t hour_of(Instant at) { return at.us / hours(1).us; }

WaitKey wait_key(const Workload& workload) {
  return {.priority_class = workload.spec.priority_class,
          .level = hour_of(workload.state_since) - workload.spec.priority,
          .origin = origin_of(workload),
          .submitted = workload.submitted,
          .id = workload.id};
}

int64_t effective_priority(const WaitKey& key, Instant now) { return std::min(kPriorityTop, hour_of(now) - key.level); }

bool is_served_before(const WaitKey& a, const WaitKey& b, Instant now) {
  auto rank = [now](const WaitKey& key) {
    return std::tuple(key.priority_class, -effective_priority(key, now), key.origin, key.submitted, key.id);
  };
  return rank(a) < rank(b);
}

HoldKey hold_key(const Workload& workload) {
  return {.priority_class = workload.spec.priority_class,
          .lowness = -workload.spec.priority,
          .submitted = workload.submitted,
          .id = workload.id};
}

}  // namespace moulin
