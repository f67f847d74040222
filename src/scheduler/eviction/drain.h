// Work that must leave a node that drains, or a device that is not healthy.
//
// All but production leave at once and wait for another place. Production first gets its
// new place, as a claim, and leaves only then; without a place it stays where it is.
#pragma once

#include <vector>

#include "scheduler/eviction/search.h"

namespace moulin {

// For one live workload that stays: what must leave, and where to. Absent: nothing must,
// or production that has no other place. Success changes the overlay like
// EvictionSearch::run(); the owner of a claim is the workload itself.
std::optional<Eviction> plan_drain(Overlay& overlay, const Workload& workload, const Departures& departures);

// Live workloads with replicas on impaired nodes, in order of id: those to ask plan_drain() about.
std::vector<WorkloadId> drained_workloads(const Index& index);

}  // namespace moulin
