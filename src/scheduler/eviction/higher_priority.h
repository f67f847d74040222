// Inside one project and one class a strictly higher declared priority evicts, once the
// victim has run for its min_runtime. Waiting raises nobody here.
#pragma once

#include "scheduler/eviction/causes.h"

namespace moulin {

Judgement judge_higher_priority(const Applicant& applicant, const Workload& victim, Instant now);

}  // namespace moulin
