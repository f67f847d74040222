#include "server/handlers/workload_wire.h"

#include <algorithm>
#include <set>

#include "model/workload_file.h"
#include "scheduler/claims.h"

namespace moulin {

namespace {

// Instants of one state as wall time; 0 means "not yet".
struct Times {
  Duration wall_offset;
  WallTime operator()(Instant instant) const { return wall_time(instant, wall_offset); }
  std::optional<WallTime> optional(Instant instant) const {
    if (instant == Instant{}) return std::nullopt;
    return (*this)(instant);
  }
};

template <class T>
std::optional<T> unless_empty(T value) {
  if (value == T{}) return std::nullopt;
  return value;
}

wire::Origin origin_of(const Origin& origin) {
  wire::Origin out{.kind = origin.kind};
  if (origin.kind == OriginKind::kArray) {
    out.name = origin.name;
    out.index = origin.index;
  }
  return out;
}

int64_t running_replicas(const Workload& workload) {
  const Attempt* attempt = workload.live();
  if (attempt == nullptr) return 0;
  return std::ranges::count(attempt->replicas, ReplicaState::kRunning, &Replica::state);
}

wire::ReplicaCount count_of(const Workload& workload) {
  return {.min = workload.spec.replicas.min, .max = workload.spec.replicas.max, .running = running_replicas(workload)};
}

// What it holds now; while it waits, what its minimum asks for (0 for a memory request,
// whose share depends on the device).
Share gpu_of(const Workload& workload) {
  const Attempt* attempt = workload.live();
  const GpuRequest& request = workload.spec.resources.gpu;
  if (attempt == nullptr) return request.share * request.count * workload.spec.replicas.min;
  Share total;
  for (const Replica& replica : attempt->replicas) {
    if (replica.state != ReplicaState::kExited) total += replica.placement.gpu_total();
  }
  return total;
}

std::vector<std::string> nodes_of(const Workload& workload) {
  std::set<std::string> names;
  if (const Attempt* attempt = workload.live()) {
    for (const Replica& replica : attempt->replicas) {
      if (replica.state != ReplicaState::kExited) names.insert(replica.placement.node.text);
    }
  }
  return {names.begin(), names.end()};
}

GpuTime held_by(const Attempt& attempt, Instant now) {
  if (attempt.state == AttemptState::kEnded) return attempt.held;
  GpuTime held;
  for (const Replica& replica : attempt.replicas) {
    Instant until = replica.state == ReplicaState::kExited ? replica.ended : std::max(now, replica.placed);
    held += gpu_time(replica.placement.gpu_total(), until - replica.placed);
  }
  return held;
}

GpuTime held_by(const Workload& workload, Instant now) {
  GpuTime held = workload.held;
  if (const Attempt* attempt = workload.live()) held += held_by(*attempt, now);
  return held;
}

std::vector<wire::Grant> grants_of(const Placement& placement) {
  std::vector<wire::Grant> out;
  for (const Grant& grant : placement.grants) {
    out.push_back({.uuid = grant.gpu.text,
                   .index = grant.slot,
                   .share_milli = grant.share,
                   .memory_bytes = grant.memory,
                   .isolation = grant.isolation});
  }
  return out;
}

wire::Exit exit_of(const Exit& exit) {
  return {.code = exit.code,
          .signal = exit.signal,
          .error = unless_empty(exit.error),
          .limit_hit = exit.limit_hit,
          .vanished = exit.vanished};
}

wire::Replica replica_of(const Replica& replica, const Times& time) {
  wire::Replica out{.replica = replica.index.value,
                    .state = replica.state,
                    .node = replica.placement.node.text,
                    .gpus = grants_of(replica.placement),
                    .pid = unless_empty(replica.pid),
                    .created = time(replica.placed),
                    .started = time.optional(replica.started),
                    .ended = time.optional(replica.ended),
                    .cause = unless_empty(replica.cause),
                    .usage = {.cpu_seconds = replica.usage.cpu,
                              .memory_peak_bytes = replica.usage.memory_peak,
                              .gpu_active_seconds = replica.usage.gpu_active}};
  if (replica.state == ReplicaState::kExited) out.exit = exit_of(replica.exit);
  return out;
}

wire::Attempt attempt_of(const Attempt& attempt, const Times& time, Instant now) {
  wire::Attempt out{.number = attempt.number.value,
                    .state = attempt.state,
                    .outcome = attempt.outcome,
                    .cause = attempt.cause,
                    .evicted_for = unless_empty(attempt.evicted_for),
                    .created = time(attempt.created),
                    .started = time.optional(attempt.running_since),
                    .checkpointed = time.optional(attempt.checkpointed),
                    .ended = time.optional(attempt.ended),
                    .held_gpu_seconds = held_by(attempt, now),
                    .lost_gpu_seconds = attempt.lost};
  for (const Replica& replica : attempt.replicas) out.replicas.push_back(replica_of(replica, time));
  return out;
}

std::vector<wire::ReplicaPlacement> placement_of(const Workload& workload) {
  std::vector<wire::ReplicaPlacement> out;
  const Attempt* attempt = workload.live();
  if (attempt == nullptr) return out;
  for (const Replica& replica : attempt->replicas) {
    if (replica.state == ReplicaState::kExited) continue;
    out.push_back({.replica = replica.index.value,
                   .node = replica.placement.node.text,
                   .cpu_milli = replica.placement.cpu,
                   .memory_bytes = replica.placement.memory,
                   .gpus = grants_of(replica.placement)});
  }
  return out;
}

// As far as it was reported, over all attempts.
Duration active_of(const Workload& workload) {
  Duration active = workload.gpu_active;
  if (const Attempt* attempt = workload.live()) {
    for (const Replica& replica : attempt->replicas) active += replica.usage.gpu_active;
  }
  return active;
}

wire::WorkloadUsage usage_of(const Workload& workload, Instant now) {
  wire::WorkloadUsage out{.held_gpu_seconds = held_by(workload, now),
                          .lost_gpu_seconds = workload.lost,
                          .gpu_active_seconds = active_of(workload),
                          .running_seconds = workload.ran};
  const Attempt* attempt = workload.live();
  if (attempt != nullptr && attempt->running_since != Instant{})
    out.running_seconds += std::max(now, attempt->running_since) - attempt->running_since;
  return out;
}

// When a waiting workload starts, as far as the state alone tells; `why` looks further.
std::optional<Instant> start_told_by_state(const State& state, const Workload& workload) {
  if (const Cow<Claim>* claim = state.claims.find(workload.id)) return (*claim)->expires - kClaimSpare;
  bool only_pauses = workload.waiting_for == std::vector{ReasonCode::kBackOff};
  if (only_pauses) return workload.eligible_from;
  return std::nullopt;
}

void tell_start(wire::WorkloadSummary& out, const State& state, const Workload& workload, Instant now) {
  if (workload.state != WorkloadState::kWaiting) return;
  if (auto start = start_told_by_state(state, workload))
    out.expected_start = wall_time(std::max(*start, now), state.wall_offset);
  else if (workload.waiting_for.empty())
    out.expected_start_reason = "no pass of the scheduler has looked at it yet";
  else
    out.expected_start_reason = "nothing certain in a list: ask `why`";
}

// Of the first replica that ended badly, else of replica 0.
std::optional<wire::Exit> telling_exit(const Attempt& attempt) {
  for (const Replica& replica : attempt.replicas) {
    if (replica.state == ReplicaState::kExited && !replica.exit.clean() && !replica.end_asked)
      return exit_of(replica.exit);
  }
  if (attempt.replicas.empty() || attempt.replicas.front().state != ReplicaState::kExited) return std::nullopt;
  return exit_of(attempt.replicas.front().exit);
}

}  // namespace

std::string brief_text(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNeverFits: return "larger than any node";
    case ReasonCode::kLimitExceeded: return "alone above a limit";
    case ReasonCode::kProjectLimit: return "the project is at its limit";
    case ReasonCode::kAncestorLimit: return "a department is at its limit";
    case ReasonCode::kGuaranteeNeeded: return "production must fit inside the guarantee";
    case ReasonCode::kBudget: return "the budget is used up";
    case ReasonCode::kModelUnavailable: return "devices of that model are taken";
    case ReasonCode::kNoCapacity: return "not enough free GPU";
    case ReasonCode::kNoGpuMemory: return "not enough free GPU memory";
    case ReasonCode::kNoCpu: return "not enough free CPU";
    case ReasonCode::kNoMemory: return "not enough free memory";
    case ReasonCode::kFragmented: return "enough in total, nowhere whole";
    case ReasonCode::kGangShort: return "not all replicas fit at once";
    case ReasonCode::kTopology: return "no domain holds it";
    case ReasonCode::kAffinity: return "its replicas must be apart";
    case ReasonCode::kProtected: return "what could give way is protected";
    case ReasonCode::kReservedFor: return "kept for an earlier one";
    case ReasonCode::kClaimedBy: return "being freed for another";
    case ReasonCode::kBehind: return "others are served first";
    case ReasonCode::kDependency: return "waits for another workload";
    case ReasonCode::kNotBefore: return "not before its time";
    case ReasonCode::kBackOff: return "pause before the next try";
    case ReasonCode::kNodeUnavailable: return "its node takes no work";
    case ReasonCode::kEngineError: return "the engine failed";
  }
  MOULIN_UNREACHABLE();
}

wire::WorkloadSummary summary_of(const State& state, const Workload& workload, Instant now) {
  Times time{state.wall_offset};
  wire::WorkloadSummary out{.id = workload.id,
                            .name = workload.spec.name,
                            .project = workload.spec.project.text,
                            .owner = workload.owner.text,
                            .kind = workload.spec.kind,
                            .class_ = workload.spec.priority_class,
                            .priority = workload.spec.priority,
                            .state = workload.state,
                            .state_since = time(workload.state_since),
                            .submitted = time(workload.submitted),
                            .finished = time.optional(workload.finished),
                            .origin = origin_of(workload.origin),
                            .gpu_milli = gpu_of(workload),
                            .replicas = count_of(workload),
                            .attempt = workload.attempt_count,
                            .nodes = nodes_of(workload),
                            .held_gpu_seconds = held_by(workload, now),
                            .gpu_active_seconds = active_of(workload),
                            .tags = workload.spec.tags};
  if (!workload.attempts.empty()) out.started = time.optional(workload.attempts.back().running_since);
  if (workload.state == WorkloadState::kFailed && !workload.attempts.empty()) {
    out.cause = unless_empty(workload.attempts.back().cause);
    out.exit = telling_exit(workload.attempts.back());
  }
  if (!workload.waiting_for.empty()) {
    out.reason = wire::ReasonBrief{workload.waiting_for.front(), brief_text(workload.waiting_for.front())};
  }
  tell_start(out, state, workload, now);
  return out;
}

wire::Workload detail_of(const State& state, const Workload& workload, const Explanation& explanation, Instant now) {
  Times time{state.wall_offset};
  wire::Workload out{.id = workload.id,
                     .name = workload.spec.name,
                     .project = workload.spec.project.text,
                     .owner = workload.owner.text,
                     .kind = workload.spec.kind,
                     .class_ = workload.spec.priority_class,
                     .priority = workload.spec.priority,
                     .state = workload.state,
                     .state_since = time(workload.state_since),
                     .submitted = time(workload.submitted),
                     .finished = time.optional(workload.finished),
                     .origin = origin_of(workload.origin),
                     .simulated = state.simulated,
                     .replicas = count_of(workload),
                     .placement = placement_of(workload),
                     .attempt_count = workload.attempt_count,
                     .preemptions = workload.preemptions,
                     .retries = workload.retries,
                     .eligible_from = time.optional(workload.eligible_from),
                     .usage = usage_of(workload, now),
                     .tags = workload.spec.tags,
                     .spec = write_workload(workload.spec)};
  for (const Attempt& attempt : workload.attempts) out.attempts.push_back(attempt_of(attempt, time, now));
  for (const Reason& reason : explanation.reasons) out.reasons.push_back({reason.code, reason.text});
  if (explanation.expected_start) out.expected_start = time(*explanation.expected_start);
  out.expected_start_reason = explanation.expected_start_reason;
  return out;
}

wire::Explanation explanation_of(const State& state, WorkloadState workload_state, const Explanation& explanation,
                                 Instant now) {
  Times time{state.wall_offset};
  wire::Explanation out{
      .state = workload_state, .expected_start_reason = explanation.expected_start_reason, .as_of = time(now)};
  if (explanation.expected_start) out.expected_start = time(*explanation.expected_start);
  for (const Reason& reason : explanation.reasons) {
    out.reasons.push_back({.code = reason.code, .text = reason.text, .numbers = reason.numbers, .names = reason.names});
  }
  auto amount_or_word = [](const std::optional<int64_t>& amount, const std::string& word) {
    if (amount) return Json{*amount};
    return word.empty() ? Json{} : Json{word};
  };
  for (const Change& change : explanation.changes) {
    out.changes.push_back({.dimension = change.dimension,
                           .from = amount_or_word(change.from, change.from_word),
                           .to = amount_or_word(change.to, change.to_word),
                           .at = unless_empty(change.at),
                           .text = change.text,
                           .starts_now = change.starts_now});
  }
  return out;
}

wire::LogState log_state_of(const State& state, const Workload& workload) {
  wire::LogState out{.time = wall_time(workload.state_since, state.wall_offset),
                     .state = workload.state,
                     .attempt = workload.attempt_count};
  if (!workload.attempts.empty()) {
    const Attempt& attempt = workload.attempts.back();
    out.outcome = unless_empty(attempt.outcome);
    out.cause = unless_empty(attempt.cause);
    out.evicted_for = unless_empty(attempt.evicted_for);
    if (attempt.state == AttemptState::kEnded) out.exit = telling_exit(attempt);
  }
  if (!workload.waiting_for.empty()) out.text = brief_text(workload.waiting_for.front());
  return out;
}

}  // namespace moulin
