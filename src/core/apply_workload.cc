#include "core/apply_workload.h"

#include "core/transitions.h"

namespace moulin {

namespace {

Workload& changed(State& state, WorkloadId id) { return state.workloads.at_mutable(id).mutate(); }

// The table is asked before every change of a workload's state.
void move(State& state, Workload& workload, WorkloadStep step, WorkloadState next, Instant at) {
  MOULIN_CHECK(may_follow(workload.state, step, next), to_text(step));
  if (next != workload.state) workload.state_since = at;
  workload.state = next;
  if (next != WorkloadState::kWaiting) workload.waiting_for.clear();
  if (!is_finished(next)) return;
  workload.finished = at;
  state.names.erase({workload.spec.project, workload.spec.name});
  state.claims.erase(workload.id);
}

Attempt& live_attempt(Workload& workload, AttemptNumber number) {
  Attempt* attempt = workload.live();
  MOULIN_CHECK(attempt != nullptr && attempt->number == number, "not the live attempt");
  return *attempt;
}

void move(Attempt& attempt, AttemptState next) {
  MOULIN_CHECK(may_follow(attempt.state, next), to_text(next));
  attempt.state = next;
}

// nullptr: not a replica of the live attempt.
Replica* live_replica(Workload& workload, const ReplicaKey& key) {
  Attempt* attempt = workload.live();
  if (attempt == nullptr || attempt->number != key.attempt) return nullptr;
  return attempt->replica(key.replica);
}

Replica& replica_of(Workload& workload, const ReplicaKey& key) {
  Replica* replica = live_replica(workload, key);
  MOULIN_CHECK(replica != nullptr, "not a live replica");
  return *replica;
}

void add_replicas(Attempt& attempt, const std::vector<ReplicaPlacement>& placements, Instant at) {
  for (const ReplicaPlacement& placement : placements) {
    MOULIN_CHECK(placement.replica == attempt.next_replica(), "replicas are numbered in order");
    attempt.replicas.push_back(
        {.index = placement.replica, .placement = placement.placement, .placed = at, .exit = {}, .usage = {}});
  }
}

void drop(DroppedReplicas& dropped, const Replica& replica, Instant checkpointed) {
  ++dropped.count;
  dropped.held += gpu_time(replica.placement.gpu_total(), replica.ended - replica.placed);
  Instant unsaved_from = std::max(replica.placed, checkpointed);
  if (replica.ended > unsaved_from)
    dropped.unsaved += gpu_time(replica.placement.gpu_total(), replica.ended - unsaved_from);
  dropped.gpu_active += replica.usage.gpu_active;
}

// The last replica stays, so that numbers go on from it.
void drop_ended(Attempt& attempt, Kind kind) {
  ReplicaIndex last{attempt.next_replica().value - 1};
  auto counts_no_more = [&](const Replica& replica) {
    return replica.state == ReplicaState::kExited && (replica.end_asked || kind == Kind::kService) &&
           replica.index != last;
  };
  auto surplus = std::ranges::count_if(attempt.replicas, counts_no_more) - kEndedReplicasKept;
  if (surplus <= 0) return;
  std::erase_if(attempt.replicas, [&](const Replica& replica) {
    if (surplus == 0 || !counts_no_more(replica)) return false;
    --surplus;
    drop(attempt.dropped, replica, attempt.checkpointed);
    return true;
  });
}

// A pass does not look at who is in back-off, so that is noted here.
void note_back_off(Workload& workload) {
  const std::vector<ReasonCode> back_off{ReasonCode::kBackOff};
  bool waits = workload.state == WorkloadState::kWaiting && workload.eligible_from != Instant{};
  if (waits)
    workload.waiting_for = back_off;
  else if (workload.waiting_for == back_off)
    workload.waiting_for.clear();
}

GpuTime held_by(const Attempt& attempt) {
  GpuTime held = attempt.dropped.held;
  for (const Replica& replica : attempt.replicas) {
    held += gpu_time(replica.placement.gpu_total(), replica.ended - replica.placed);
  }
  return held;
}

}  // namespace

void fold_workload(State& state, const event::WorkloadSubmitted& event, Instant at) {
  MOULIN_CHECK(!state.workloads.contains(event.workload), "ids are new");
  Workload workload{
      .id = event.workload, .spec = event.spec, .owner = event.owner, .origin = event.origin, .submitted = at};
  workload.state_since = at;
  state.names.set({event.spec.project, event.spec.name}, event.workload);
  state.workloads.set(event.workload, Cow<Workload>(std::move(workload)));
}

void fold_workload(State& state, const event::AttemptStarted& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  move(state, workload, WorkloadStep::kAttemptStarted, WorkloadState::kStarting, at);
  if (workload.attempts.size() == kAttemptsKept) workload.attempts.erase(workload.attempts.begin());
  Attempt attempt{.number = event.attempt,
                  .epoch = event.epoch,
                  .token = event.token,
                  .rendezvous_port = event.rendezvous_port,
                  .replicas = {},
                  .created = at};
  add_replicas(attempt, event.replicas, at);
  workload.attempts.push_back(std::move(attempt));
  workload.attempt_count = event.attempt.value;
  state.claims.erase(event.workload);
}

void fold_workload(State& state, const event::ReplicasAdded& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  move(state, workload, WorkloadStep::kReplicasAdded, WorkloadState::kRunning, at);
  drop_ended(live_attempt(workload, event.attempt), workload.spec.kind);
  add_replicas(live_attempt(workload, event.attempt), event.replicas, at);
}

void fold_workload(State& state, const event::ReplicaRan& event, Instant at) {
  Replica& replica = replica_of(changed(state, event.key.workload), event.key);
  MOULIN_CHECK(may_follow(replica.state, ReplicaState::kRunning));
  replica.state = ReplicaState::kRunning;
  replica.started = at;
  replica.pid = event.pid;
}

void fold_workload(State& state, const event::AttemptRan& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  Attempt& attempt = live_attempt(workload, event.attempt);
  move(attempt, AttemptState::kRunning);
  attempt.running_since = at;
  move(state, workload, WorkloadStep::kAttemptRan, WorkloadState::kRunning, at);
}

void fold_workload(State& state, const event::CheckpointWritten& event, Instant at) {
  Attempt& attempt = live_attempt(changed(state, event.key.workload), event.key.attempt);
  attempt.checkpointed = at;
  attempt.dropped.unsaved = {};
}

void fold_workload(State& state, const event::UsageRecorded& event, Instant) {
  replica_of(changed(state, event.key.workload), event.key).usage = event.usage;
}

void fold_workload(State& state, const event::EndAsked& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  Attempt& attempt = live_attempt(workload, event.attempt);
  MOULIN_CHECK(event.intent > attempt.intent, "a later intent is stronger");
  move(attempt, AttemptState::kStopping);
  attempt.intent = event.intent;
  attempt.cause = event.cause;
  attempt.evicted_for = event.beneficiary;
  attempt.leaves_by = event.leaves_by;
  workload.pause_wanted = event.then_pause;
  // Who was being moved and now ends for good needs its next place no more.
  if (event.intent > Intent::kPreempt) state.claims.erase(event.workload);
  move(state, workload, WorkloadStep::kEndAsked, WorkloadState::kStopping, at);
}

void fold_workload(State& state, const event::ReplicaEndAsked& event, Instant) {
  Replica& replica = replica_of(changed(state, event.key.workload), event.key);
  replica.end_asked = true;
  replica.cause = event.cause;
  replica.leaves_by = event.leaves_by;
}

void fold_workload(State& state, const event::ReplicaEnded& event, Instant at) {
  Workload& workload = changed(state, event.key.workload);
  Replica& replica = replica_of(workload, event.key);
  MOULIN_CHECK(may_follow(replica.state, ReplicaState::kExited));
  workload.live()->crashes = event.crashes;
  replica.state = ReplicaState::kExited;
  replica.exit = event.exit;
  replica.usage = event.usage;
  replica.ended = at;
  workload.eligible_from = std::max(workload.eligible_from, event.regrow_from);
}

void fold_workload(State& state, const event::AttemptEnded& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  Attempt& attempt = live_attempt(workload, event.attempt);
  for (const Replica& replica : attempt.replicas)
    MOULIN_CHECK(replica.state == ReplicaState::kExited, "all replicas ended before");
  move(attempt, AttemptState::kEnded);
  attempt.ended = at;
  attempt.outcome = event.outcome;
  attempt.held = held_by(attempt);
  attempt.lost = event.lost;
  workload.held += attempt.held;
  workload.lost += event.lost;
  workload.gpu_active += attempt.dropped.gpu_active;
  for (const Replica& replica : attempt.replicas) workload.gpu_active += replica.usage.gpu_active;
  if (attempt.running_since != Instant{}) workload.ran += at - attempt.running_since;
  workload.eligible_from = event.eligible_from;
  if (event.ran_well) workload.retries = 0;
  if (event.counts_as_retry) ++workload.retries;
  workload.pause_wanted = false;
  if (event.next == WorkloadState::kPaused) state.claims.erase(event.workload);
  if (event.outcome == Outcome::kPreempted) {
    ++workload.preemptions;
    workload.evicted_by = attempt.evicted_for;
  }
  move(state, workload, WorkloadStep::kAttemptEnded, event.next, at);
  note_back_off(workload);
}

void fold_workload(State& state, const event::WorkloadStopped& event, Instant at) {
  move(state, changed(state, event.workload), WorkloadStep::kStopped, WorkloadState::kStopped, at);
}

void fold_workload(State& state, const event::WorkloadPaused& event, Instant at) {
  move(state, changed(state, event.workload), WorkloadStep::kPaused, WorkloadState::kPaused, at);
  state.claims.erase(event.workload);
}

void fold_workload(State& state, const event::WorkloadResumed& event, Instant at) {
  Workload& workload = changed(state, event.workload);
  move(state, workload, WorkloadStep::kResumed, WorkloadState::kWaiting, at);
  note_back_off(workload);
}

void fold_workload(State& state, const event::WorkloadForgotten& event, Instant) {
  MOULIN_CHECK(may_come(state.workloads.at(event.workload)->state, WorkloadStep::kForgotten));
  state.workloads.erase(event.workload);
}

void fold_workload(State& state, const event::PauseAsked& event, Instant) {
  Workload& workload = changed(state, event.workload);
  MOULIN_CHECK(workload.state == WorkloadState::kStopping, "a pause that is wanted for later");
  workload.pause_wanted = true;
}

// Recorded for people; but for their rate they change nothing.
void fold_workload(State& state, const event::StaleReported& event, Instant at) {
  if (event.of_minute == 0) return;
  state.stale_rate = {.since = event.of_minute == 1 ? at : state.stale_rate.since, .count = event.of_minute};
}
void fold_workload(State&, const event::StrangerEndAsked&, Instant) {}
void fold_workload(State&, const event::ExecBegan&, Instant) {}

void fold_workload(State& state, const event::BackOffEnded& event, Instant) {
  Workload& workload = changed(state, event.workload);
  workload.eligible_from = {};
  note_back_off(workload);
}

void fold_workload(State& state, const event::ClaimMade& event, Instant) {
  state.claims.set(event.claim.owner, Cow<Claim>(event.claim));
}

void fold_workload(State& state, const event::ClaimReleased& event, Instant) {
  MOULIN_CHECK(state.claims.erase(event.owner));
}

void fold_workload(State& state, const event::PassEnded& event, Instant) {
  for (const WaitItem& wait : event.waits) changed(state, wait.workload).waiting_for = wait.reasons;
}

}  // namespace moulin
