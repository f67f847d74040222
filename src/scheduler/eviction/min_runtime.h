// How long a workload runs before it may be evicted by priority or taken back.
#pragma once

#include "model/workload.h"

namespace moulin {

// Requires a live workload. One that does not run yet has run for no time.
inline bool has_had_min_runtime(const Workload& workload, Instant now) {
  Instant since = workload.attempts.back().running_since;
  Duration ran = since == Instant{} ? Duration{} : now - since;
  return ran >= workload.spec.min_runtime;
}

// When it has, if nothing happens to it. Requires one that runs.
inline Instant min_runtime_ends(const Workload& workload) {
  return workload.attempts.back().running_since + workload.spec.min_runtime;
}

}  // namespace moulin
