// A higher class evicts a lower one: production everybody, training development and
// batch, development batch. In its own project without condition; in another project only
// what is above the guarantee of that project and of the departments that stand between
// the two.
#pragma once

#include "scheduler/eviction/causes.h"

namespace moulin {

Judgement judge_higher_class(const Applicant& applicant, const Candidate& victim);

}  // namespace moulin
