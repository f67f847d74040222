// How replicas, attempts and workloads end: the one place that says what an exit means.
#pragma once

#include "core/decide_parts.h"

namespace moulin {

// The replica of a live attempt has ended. With the last one the attempt ends. With the
// first that fails of a gang, or that is lost from its minimum, the others are asked to end.
void end_replica(Case& c, const Workload& workload, const ReplicaExited& report);

// Whether a starting attempt now runs: its minimum has started. One that has ended since
// did start; else a quick or a crashing replica would keep the others `starting` for ever.
bool is_up(const Workload& workload, const Attempt& attempt);

// What an attempt has come to when all its replicas have exited. `minimum` is that of its
// replicas: a surplus replica that was lost with its node does not spoil the others' success.
Outcome outcome_of(const Attempt& attempt, int64_t minimum);

// Where its workload goes from there.
struct Afterwards {
  WorkloadState next = WorkloadState::kWaiting;
  Instant eligible_from{};
  bool counts_as_retry = false;
  bool ran_well = false;
};
Afterwards afterwards(const Workload& workload, Outcome outcome, Instant now);

// GPU held since the newest checkpoint, or since the start without one.
GpuTime lost_work(const Attempt& attempt, Instant now);

// Who has run for this long before it failed ran well: a service is then forgiven its
// former reruns, and a replica of one its former crashes.
inline constexpr Duration kRanWell = minutes(10);

// The pause before rerun number `retries` + 1: doubled each time, at most an hour.
Duration back_off(const Retry& retry, int64_t retries);

}  // namespace moulin
