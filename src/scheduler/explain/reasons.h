// Why an applicant waits, in the order of what to do about it.
#pragma once

#include "scheduler/explain/inquiry.h"

namespace moulin {

// Every rule that blocks; its place in the queue (explain_queue) is not among them. Empty
// when it starts as soon as it is its turn.
Reasons find_reasons(const Inquiry& inquiry);

// By code; those of one code stay as they are.
Reasons in_order(Reasons reasons);

// The codes, each once, in order.
std::vector<ReasonCode> codes_of(const Reasons& reasons);

}  // namespace moulin
