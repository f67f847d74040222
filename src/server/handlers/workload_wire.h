// Workloads as the API shows them.
#pragma once

#include "api/wire_types.h"
#include "model/state.h"
#include "server/published.h"

namespace moulin {

wire::WorkloadSummary summary_of(const State& state, const Workload& workload, Instant now);

// `explanation` is what why found; empty parts for a workload that does not wait.
wire::Workload detail_of(const State& state, const Workload& workload, const Explanation& explanation, Instant now);

wire::Explanation explanation_of(const State& state, WorkloadState workload_state, const Explanation& explanation,
                                 Instant now);

wire::LogState log_state_of(const State& state, const Workload& workload);

// A sentence for a reason of which only the code is known, for lists.
std::string brief_text(ReasonCode code);

}  // namespace moulin
