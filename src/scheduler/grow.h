// More replicas for workloads that run with fewer than they may have: replicas of services
// that ended by themselves, then elastic surplus. One replica each in turn, best class
// first, on what nobody who waits could use.
#pragma once

#include <vector>

#include "scheduler/eviction/unit.h"
#include "scheduler/overlay.h"

namespace moulin {

// Adds at most `starts_max` replicas to the overlay. Workloads of which something leaves
// by the plan are passed over.
std::vector<StartItem> plan_growth(Overlay& overlay, const Departures& departures, int64_t starts_max);

}  // namespace moulin
