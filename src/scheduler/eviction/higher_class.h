// A higher class evicts a lower one: production everybody, training development and
// batch, development batch. In its own project without condition; in another project only
// what that project holds above its guarantee.
#pragma once

#include "scheduler/eviction/causes.h"

namespace moulin {

Judgement judge_higher_class(const Applicant& applicant, const Workload& victim, const IsAbove& is_above_line);

}  // namespace moulin
