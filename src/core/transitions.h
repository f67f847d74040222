// The state machine of workloads, attempts and replicas: one table each, of which event
// may come in which state and what may follow. decide() makes only events that the table
// allows; apply() checks it. docs/life_of_a_workload.md draws it from here.
#pragma once

#include <string>

#include "base/enum_text.h"
#include "model/workload.h"

namespace moulin {

// What happens to a workload. `kSubmitted` has no state before it.
enum class WorkloadStep {
  kAttemptStarted,
  kAttemptRan,
  kReplicasAdded,
  kEndAsked,
  kAttemptEnded,
  kStopped,
  kPaused,
  kResumed,
  kForgotten,
};
template <>
inline constexpr auto kWords<WorkloadStep> =
    std::to_array<std::string_view>({"attempt_started", "attempt_ran", "replicas_added", "end_asked", "attempt_ended",
                                     "workload_stopped", "workload_paused", "workload_resumed", "workload_forgotten"});

// Whether `step` may come in `state` and lead to `next`. For kForgotten, `next` is the
// state itself: the workload leaves the memory.
bool may_follow(WorkloadState state, WorkloadStep step, WorkloadState next);

// Whether `step` may come in `state` at all.
bool may_come(WorkloadState state, WorkloadStep step);

// The same for one attempt and one replica, by their states alone.
bool may_follow(AttemptState state, AttemptState next);
bool may_follow(ReplicaState state, ReplicaState next);

// The table of workloads as a Mermaid state diagram.
std::string state_diagram();

}  // namespace moulin
