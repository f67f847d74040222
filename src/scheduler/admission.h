// What is refused at submission, because waiting would not help: never_fits and
// limit_exceeded. Both are necessary conditions that hold whatever else runs.
#pragma once

#include <optional>

#include "scheduler/scheduler.h"

namespace moulin {

// Why no set of registered nodes, empty, with down and unhealthy ones, could hold the
// minimum of replicas; with the largest there is, and what to change.
std::optional<Error> never_fits(const Index& index, const WorkloadSpec& spec);

// Why the minimum of replicas is above a limit of the project or of an ancestor even with
// nothing else in it. Requires that the project exists.
std::optional<Error> limit_exceeded(const View& view, const WorkloadSpec& spec);

// How many replicas, at most `enough`, the registered nodes hold when empty. Exact.
int64_t replicas_when_empty(const Index& index, const WorkloadSpec& spec, int64_t enough);

}  // namespace moulin
