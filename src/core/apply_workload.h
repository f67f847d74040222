// The part of the fold that is about workloads. Called by apply.cc alone.
#pragma once

#include "model/event.h"
#include "model/state.h"

namespace moulin {

void fold_workload(State& state, const event::WorkloadSubmitted& event, Instant at);
void fold_workload(State& state, const event::AttemptStarted& event, Instant at);
void fold_workload(State& state, const event::ReplicasAdded& event, Instant at);
void fold_workload(State& state, const event::ReplicaRan& event, Instant at);
void fold_workload(State& state, const event::AttemptRan& event, Instant at);
void fold_workload(State& state, const event::CheckpointWritten& event, Instant at);
void fold_workload(State& state, const event::UsageRecorded& event, Instant at);
void fold_workload(State& state, const event::EndAsked& event, Instant at);
void fold_workload(State& state, const event::ReplicaEndAsked& event, Instant at);
void fold_workload(State& state, const event::ReplicaEnded& event, Instant at);
void fold_workload(State& state, const event::AttemptEnded& event, Instant at);
void fold_workload(State& state, const event::WorkloadStopped& event, Instant at);
void fold_workload(State& state, const event::WorkloadPaused& event, Instant at);
void fold_workload(State& state, const event::WorkloadResumed& event, Instant at);
void fold_workload(State& state, const event::WorkloadForgotten& event, Instant at);
void fold_workload(State& state, const event::PauseAsked& event, Instant at);
void fold_workload(State& state, const event::StaleReported& event, Instant at);
void fold_workload(State& state, const event::StrangerEndAsked& event, Instant at);
void fold_workload(State& state, const event::ExecBegan& event, Instant at);
void fold_workload(State& state, const event::BackOffEnded& event, Instant at);
void fold_workload(State& state, const event::ClaimMade& event, Instant at);
void fold_workload(State& state, const event::ClaimReleased& event, Instant at);
void fold_workload(State& state, const event::PassEnded& event, Instant at);

}  // namespace moulin
