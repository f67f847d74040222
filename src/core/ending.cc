#include "core/ending.h"

#include <algorithm>

namespace moulin {

namespace {

constexpr Duration kBackOffMax = hours(1);

bool all_exited(const Attempt& attempt) {
  return std::ranges::all_of(attempt.replicas,
                             [](const Replica& replica) { return replica.state == ReplicaState::kExited; });
}

// A surplus replica that was asked to end says nothing about its attempt.
bool any(const Attempt& attempt, bool Exit::* flag) {
  return std::ranges::any_of(attempt.replicas,
                             [flag](const Replica& replica) { return !replica.end_asked && replica.exit.*flag; });
}

// A surplus replica that was asked to end does not count for the outcome.
bool is_success(const Attempt& attempt, int64_t minimum) {
  int64_t clean = 0;
  bool any_failed = false;
  for (const Replica& replica : attempt.replicas) {
    if (replica.end_asked) continue;
    clean += replica.exit.clean() ? 1 : 0;
    any_failed = any_failed || (!replica.exit.clean() && !replica.exit.vanished);
  }
  return clean >= minimum && !any_failed;
}

// Members that run, or have done their part.
int64_t sound_members(const Attempt& attempt) {
  return std::ranges::count_if(attempt.replicas, [](const Replica& replica) {
    return !replica.end_asked && (replica.state != ReplicaState::kExited || replica.exit.clean());
  });
}

// Whether the end of this replica by itself ends its whole gang.
bool breaks_gang(const Workload& workload, const Attempt& attempt, const Replica& replica) {
  if (workload.spec.kind == Kind::kService || replica.exit.clean()) return false;
  if (attempt.intent != Intent::kNone || replica.end_asked) return false;  // it was asked to, and may do so as it likes
  return !replica.exit.vanished || sound_members(attempt) < workload.spec.replicas.min;
}

bool is_rerun(const Workload& workload, Outcome outcome, int64_t retries) {
  const Retry& retry = workload.spec.retry;
  bool wanted = outcome == Outcome::kNodeLost ? retry.on_node_lost : retry.on_failed;
  return wanted && retries < retry.max && workload.attempts.back().cause != Cause::kLimit;
}

// Services alone: what a job did before it failed is no sign that it will not fail again.
bool ran_well(const Workload& workload, Instant since, Instant now) {
  return workload.spec.kind == Kind::kService && since != Instant{} && now - since >= kRanWell;
}

// What was asked to leave, or failed, and waits for another attempt: for ever, when
// somebody asked for a pause meanwhile.
Afterwards again(const Workload& workload, Afterwards after) {
  if (!workload.pause_wanted) return after;
  after.next = WorkloadState::kPaused;
  after.eligible_from = {};
  return after;
}

Afterwards after_failure(const Workload& workload, Outcome outcome, Instant now) {
  bool well = ran_well(workload, workload.attempts.back().running_since, now);
  int64_t retries = well ? 0 : workload.retries;
  if (!is_rerun(workload, outcome, retries)) return {.next = WorkloadState::kFailed};
  return again(workload, {.next = WorkloadState::kWaiting,
                          .eligible_from = now + back_off(workload.spec.retry, retries),
                          .counts_as_retry = true,
                          .ran_well = well});
}

// A replica of a service that ended by itself: another takes its place after a pause. Never
// at once: one that crashes for ever must not fill the state.
event::ReplicaEnded with_regrowth(const Case& c, const Workload& workload, const Replica& replica,
                                  event::ReplicaEnded ended) {
  const Attempt& attempt = *workload.live();
  ended.crashes = attempt.crashes;
  if (workload.spec.kind != Kind::kService || replica.end_asked) return ended;
  int64_t before = ran_well(workload, replica.started, c.at()) ? 0 : attempt.crashes;
  Retry retry = workload.spec.retry;
  retry.back_off = std::max(retry.back_off, seconds(1));
  ended.regrow_from = c.at() + back_off(retry, before);
  ended.crashes = before + 1;
  return ended;
}

}  // namespace

Outcome outcome_of(const Attempt& attempt, int64_t minimum) {
  switch (attempt.intent) {
    case Intent::kStop: return Outcome::kStopped;
    case Intent::kPreempt: return any(attempt, &Exit::done_file) ? Outcome::kSucceeded : Outcome::kPreempted;
    case Intent::kPause: return any(attempt, &Exit::done_file) ? Outcome::kSucceeded : Outcome::kPaused;
    case Intent::kFail: return any(attempt, &Exit::vanished) ? Outcome::kNodeLost : Outcome::kFailed;
    case Intent::kNone: break;
  }
  if (is_success(attempt, minimum)) return Outcome::kSucceeded;
  return any(attempt, &Exit::vanished) ? Outcome::kNodeLost : Outcome::kFailed;
}

Afterwards afterwards(const Workload& workload, Outcome outcome, Instant now) {
  switch (outcome) {
    case Outcome::kSucceeded: return {.next = WorkloadState::kSucceeded};
    case Outcome::kStopped: return {.next = WorkloadState::kStopped};
    case Outcome::kPaused: return {.next = WorkloadState::kPaused};
    case Outcome::kPreempted: return again(workload, {.next = WorkloadState::kWaiting});
    case Outcome::kFailed:
    case Outcome::kNodeLost: return after_failure(workload, outcome, now);
    case Outcome::kNone: break;
  }
  MOULIN_UNREACHABLE();
}

GpuTime lost_work(const Attempt& attempt, Instant now) {
  GpuTime lost = attempt.dropped.unsaved;
  for (const Replica& replica : attempt.replicas) {
    Instant end = replica.state == ReplicaState::kExited && replica.ended != Instant{} ? replica.ended : now;
    Instant since = std::max(replica.placed, attempt.checkpointed);
    if (end > since) lost += gpu_time(replica.placement.gpu_total(), end - since);
  }
  return lost;
}

Duration back_off(const Retry& retry, int64_t retries) {
  Duration pause = retry.back_off;
  for (int64_t i = 0; i < retries && pause < kBackOffMax; ++i) pause = pause * 2;
  return std::min(pause, kBackOffMax);
}

bool is_up(const Workload& workload, const Attempt& attempt) {
  if (attempt.state != AttemptState::kStarting) return false;
  return std::ranges::count_if(attempt.replicas, [](const Replica& replica) {
           return replica.state != ReplicaState::kPlaced;
         }) >= workload.spec.replicas.min;
}

void end_replica(Case& c, const Workload& workload, const ReplicaExited& report) {
  Attempt attempt = *workload.live();
  Replica& replica = *attempt.replica(report.key.replica);
  c.happens(with_regrowth(c, workload, replica, {.key = report.key, .exit = report.exit, .usage = report.usage}));
  replica.state = ReplicaState::kExited;
  replica.exit = report.exit;
  replica.ended = c.at();

  if (all_exited(attempt)) {
    Outcome outcome = outcome_of(attempt, workload.spec.replicas.min);
    Afterwards after = afterwards(workload, outcome, c.at());
    bool again = outcome == Outcome::kPreempted || outcome == Outcome::kNodeLost;
    c.happens(event::AttemptEnded{.workload = workload.id,
                                  .attempt = attempt.number,
                                  .outcome = outcome,
                                  .lost = again ? lost_work(attempt, c.at()) : GpuTime{},
                                  .next = after.next,
                                  .eligible_from = after.eligible_from,
                                  .counts_as_retry = after.counts_as_retry,
                                  .ran_well = after.ran_well});
    return;
  }
  if (breaks_gang(workload, attempt, replica)) return ask_end(c, workload, Intent::kFail, Cause::kGangBelowMinimum);
  if (is_up(workload, attempt)) c.happens(event::AttemptRan{.workload = workload.id, .attempt = attempt.number});
}

}  // namespace moulin
