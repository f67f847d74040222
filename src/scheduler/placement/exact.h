// Every packing of a small gang, where best fit found none though there is room.
//
// Replicas are alike and nodes do not depend on each other, so on hardware alone best fit
// finds a packing whenever there is one. It may miss one where a limit of the quota tree on
// one pool or model forces a choice that best fit would not make.
#pragma once

#include "scheduler/placement/place.h"

namespace moulin {

// Bounds of the search: larger problems are not tried.
inline constexpr size_t kExactNodesMax = 16;
inline constexpr int64_t kExactReplicasMax = 16;
inline constexpr int64_t kExactStepsMax = 5'000;

// As place_gang(). Absent: there is no packing, or the problem is too large to tell.
std::optional<std::vector<ReplicaPlacement>> place_exactly(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                           ReplicaSpan span);

}  // namespace moulin
