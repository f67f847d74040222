// What must hold of everybody that is ended so that a guarantee is kept.
#pragma once

#include "sim/invariants.h"

namespace moulin {

// `victim` lives in `before`; `winner` is the one that takes back, nullptr: nobody that is known.
Violation check_reclaim(const State& before, const Workload& victim, const Workload* winner);

}  // namespace moulin
