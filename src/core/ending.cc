#include "core/ending.h"

#include <algorithm>

namespace moulin {

namespace {

constexpr Duration kBackOffMax = hours(1);

bool all_exited(const Attempt& attempt) {
  return std::ranges::all_of(attempt.replicas,
                             [](const Replica& replica) { return replica.state == ReplicaState::kExited; });
}

bool any(const Attempt& attempt, bool Exit::* flag) {
  return std::ranges::any_of(attempt.replicas, [flag](const Replica& replica) { return replica.exit.*flag; });
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

bool is_rerun(const Workload& workload, Outcome outcome) {
  const Retry& retry = workload.spec.retry;
  bool wanted = outcome == Outcome::kNodeLost ? retry.on_node_lost : retry.on_failed;
  return wanted && workload.retries < retry.max && workload.attempts.back().cause != Cause::kLimit;
}

// A replica of a service that ended by itself: another takes its place after a pause. Never
// at once: one that crashes for ever must not fill the state.
Instant regrow_from(const Case& c, const Workload& workload, const Replica& replica) {
  if (workload.spec.kind != Kind::kService || replica.end_asked) return {};
  Retry retry = workload.spec.retry;
  retry.back_off = std::max(retry.back_off, seconds(1));
  return c.at() + back_off(retry, std::ssize(workload.live()->replicas) - workload.spec.replicas.max);
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
    case Outcome::kPreempted: return {.next = WorkloadState::kWaiting};
    case Outcome::kFailed:
    case Outcome::kNodeLost:
      if (!is_rerun(workload, outcome)) return {.next = WorkloadState::kFailed};
      return {.next = WorkloadState::kWaiting,
              .eligible_from = now + back_off(workload.spec.retry, workload.retries),
              .counts_as_retry = true};
    case Outcome::kNone: break;
  }
  MOULIN_UNREACHABLE();
}

GpuTime lost_work(const Attempt& attempt, Instant now) {
  GpuTime lost;
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
  Replica& replica = attempt.replicas[static_cast<size_t>(report.key.replica.value)];
  c.happens(event::ReplicaEnded{
      .key = report.key, .exit = report.exit, .usage = report.usage, .regrow_from = regrow_from(c, workload, replica)});
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
                                  .counts_as_retry = after.counts_as_retry});
    return;
  }
  if (breaks_gang(workload, attempt, replica)) return ask_end(c, workload, Intent::kFail, Cause::kGangBelowMinimum);
  if (is_up(workload, attempt)) c.happens(event::AttemptRan{.workload = workload.id, .attempt = attempt.number});
}

}  // namespace moulin
