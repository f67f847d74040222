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

// Which of the devices that fit a replica takes: the fullest, or, for gangs whose replicas
// take parts of several devices, those with most room, which leaves most for the others.
enum class DeviceChoice { kBestFit, kMostRoom };

// The best place for one more replica; nothing is placed. Absent: there is none.
std::optional<Placement> find_place(Overlay& overlay, const Applicant& applicant, Hold hold,
                                    DeviceChoice choice = DeviceChoice::kBestFit);

// Which replicas to place.
struct ReplicaSpan {
  int32_t first = 0;
  int64_t count = 1;
};

// All of them or none: on success they are placed in the overlay, else it is unchanged.
// Best fit one after the other; where that fails though there is room, every packing of a
// small gang is tried (exact.h), so that there "no" means no.
std::optional<std::vector<ReplicaPlacement>> place_gang(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                        ReplicaSpan span);

// The place of one replica on devices of `model` of that node. Requires that it fits there.
Placement placement_on(const Overlay& overlay, const Resources& resources, const NodeName& name, const ModelName& model,
                       DeviceChoice choice);

}  // namespace moulin
