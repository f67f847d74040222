// Where replicas go: hard filters, then best fit (fit.h), into an overlay.
//
// Hard filters: pool in the list, node open and up, device healthy, model wanted,
// isolation, CPU, memory, GPU memory, limits and guarantees of the quota tree. Models
// are tried in order of preference: every place on the first before any on the second.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/applicant.h"
#include "scheduler/overlay.h"

namespace moulin {

// The best place for one more replica; nothing is placed. Absent: there is none.
std::optional<Placement> find_place(Overlay& overlay, const Applicant& applicant, Hold hold);

// Which replicas to place.
struct ReplicaSpan {
  int32_t first = 0;
  int64_t count = 1;
};

// All of them or none: on success they are placed in the overlay, else it is unchanged.
// Best fit one after the other; where that fails on a small problem, every packing is
// tried (exact.h), so that there "no" means no.
std::optional<std::vector<ReplicaPlacement>> place_gang(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                        ReplicaSpan span);

// The grants of one replica on devices of `model` of that node: those that fit() counted.
// Requires that they fit.
Placement placement_on(const Overlay& overlay, const Resources& resources, const NodeName& name,
                       const ModelName& model);

// False only when no packing can hold that many replicas: a bound over the shapes, before
// any search. Limits are not looked at.
bool might_fit(const Room& room, const WorkloadSpec& spec, int64_t replicas);

// How many replicas the shapes hold at most, counted up to `enough`.
int64_t most_in_groups(const Room& room, const WorkloadSpec& spec, int64_t enough);

}  // namespace moulin
