// How many replicas would fit, counted node by node and without placing any: quick answers
// to "could it?", for bounds and explanations. Limits of the quota tree are not looked at.
#pragma once

#include "scheduler/applicant.h"

namespace moulin {

// On one node as it is, open or not. Exact.
int64_t replicas_on(const NodeRoom& node, const Resources& resources);

// On all open nodes of the pools that the workload may use, counted up to `enough`; exact,
// because replicas are alike and nodes do not depend on each other.
int64_t replicas_that_fit(const Room& room, const WorkloadSpec& spec, int64_t enough);

// Never less than replicas_that_fit(), and quicker: CPU and memory are not looked at.
int64_t most_in_groups(const Room& room, const WorkloadSpec& spec, int64_t enough);

}  // namespace moulin
