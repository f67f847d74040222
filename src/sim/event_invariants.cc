// check_event(): what one event may do.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/invariants.h"
#include "sim/reclaim_invariant.h"
#include "sim/usage_counter.h"

namespace moulin {

namespace {

std::string name_of(const State& state, WorkloadId id) {
  const Workload* workload = state.workload(id);
  return workload == nullptr ? to_text(id) : workload->spec.name + " (" + to_text(id) + ")";
}

// ---- Transitions, listed here a second time on purpose ----

struct Arrow {
  std::string_view from;
  std::string_view event;
  std::string_view to;
};
constexpr std::array kArrows = std::to_array<Arrow>({
    {"waiting", "attempt_started", "starting"}, {"waiting", "workload_stopped", "stopped"},
    {"waiting", "workload_paused", "paused"},   {"paused", "workload_resumed", "waiting"},
    {"paused", "workload_stopped", "stopped"},  {"starting", "attempt_ran", "running"},
    {"starting", "end_asked", "stopping"},      {"starting", "attempt_ended", "succeeded"},
    {"starting", "attempt_ended", "failed"},    {"starting", "attempt_ended", "waiting"},
    {"running", "end_asked", "stopping"},       {"running", "attempt_ended", "succeeded"},
    {"running", "attempt_ended", "failed"},     {"running", "attempt_ended", "waiting"},
    {"stopping", "attempt_ended", "succeeded"}, {"stopping", "attempt_ended", "failed"},
    {"stopping", "attempt_ended", "waiting"},   {"stopping", "attempt_ended", "paused"},
    {"stopping", "attempt_ended", "stopped"},
});

Violation check_transition(const State& before, const Event& event, const State& after) {
  WorkloadId id = event_workload(event.body);
  const Workload* was = before.workload(id);
  const Workload* is = after.workload(id);
  if (was == nullptr && is == nullptr) return {};
  std::string_view word = event_word(event.body);
  if (was == nullptr) {
    bool right = word == "workload_submitted" && is->state == WorkloadState::kWaiting;
    return right ? Violation{} : fmt::format("{} came to be by {}", name_of(after, id), word);
  }
  if (is == nullptr) {
    bool right = word == "workload_forgotten" && is_finished(was->state);
    return right ? Violation{} : fmt::format("{} left by {}", name_of(before, id), word);
  }
  if (was->state == is->state) return {};
  bool listed = std::ranges::any_of(kArrows, [&](const Arrow& arrow) {
    return arrow.from == to_text(was->state) && arrow.event == word && arrow.to == to_text(is->state);
  });
  if (listed) return {};
  return fmt::format("{} went from {} to {} by {}", name_of(after, id), to_text(was->state), to_text(is->state), word);
}

Violation check_others_untouched(const State& before, const Event& event, const State& after) {
  WorkloadId id = event_workload(event.body);
  if (std::holds_alternative<event::PassEnded>(event.body)) return {};
  for (const auto& [other, workload] : before.workloads) {
    if (other == id) continue;
    const Cow<Workload>* now = after.workloads.find(other);
    if (now == nullptr || !(*now == workload))
      return fmt::format("{} about {} changed {}", event_word(event.body), to_text(id), to_text(other));
  }
  return {};
}

// ---- Starts ----

Violation check_places(const State& before, WorkloadId id, const std::vector<ReplicaPlacement>& replicas) {
  const Workload& workload = *before.workload(id);
  for (const ReplicaPlacement& item : replicas) {
    const Placement& placement = item.placement;
    const Node* node = before.node(placement.node);
    if (node == nullptr || node->mode != NodeMode::kOpen || node->presence != Presence::kUp)
      return fmt::format("{} starts on {}, which takes no work", name_of(before, id), placement.node.text);
    const std::vector<PoolName>& pools = workload.spec.pools;
    if (!pools.empty() && std::ranges::find(pools, node->pool) == pools.end())
      return fmt::format("{} starts in pool {}", name_of(before, id), node->pool.text);
    if (placement.cpu != workload.spec.resources.cpu || placement.memory != workload.spec.resources.memory)
      return fmt::format("{} gets other CPU or memory than it asks for", name_of(before, id));
    if (std::ssize(placement.grants) != workload.spec.resources.gpu.count)
      return fmt::format("{} gets {} devices", name_of(before, id), placement.grants.size());
    for (const Grant& grant : placement.grants) {
      const Gpu& gpu = node->gpus.at(static_cast<size_t>(grant.slot));
      if (gpu.health != Health::kHealthy)
        return fmt::format("{} starts on {}, which is {}", name_of(before, id), gpu.uuid.text, to_text(gpu.health));
      const std::vector<ModelName>& models = workload.spec.resources.gpu_models;
      if (!models.empty() && std::ranges::find(models, gpu.model) == models.end())
        return fmt::format("{} starts on a {}", name_of(before, id), gpu.model.text);
      const GpuRequest& wish = workload.spec.resources.gpu;
      Share share = wish.form == GpuForm::kMemory ? share_of_memory(wish.memory, gpu.usable()) : wish.share;
      if (grant.share != share)
        return fmt::format("{} gets {} thousandths of {}, not {}", name_of(before, id), grant.share.milli,
                           gpu.uuid.text, share.milli);
    }
  }
  return {};
}

Violation check_limits(const State& after, WorkloadId id, const std::vector<ReplicaPlacement>& replicas) {
  const Workload& workload = *after.workload(id);
  for (const TreeNode* node : path_to_root(after, workload.spec.project)) {
    for (const auto& [key, quota] : node->quotas) {
      bool takes = std::ranges::any_of(replicas, [&, &wanted = key](const ReplicaPlacement& item) {
        return amount_of(after, item.placement, wanted) > 0;
      });
      if (!takes || !quota.limit) continue;
      int64_t held = held_below(after, node->name, key, Counted::kAll);
      if (held > *quota.limit)
        return fmt::format("{} starts and {} then holds {} of {} {}", name_of(after, id), node->name.text, held,
                           *quota.limit, to_text(key.resource));
    }
  }
  return {};
}

// A guarantee that is not declared is 0; that of the organisation is the capacity, and
// `rest` is checked by scenarios.
Violation check_production(const State& after, WorkloadId id, const std::vector<ReplicaPlacement>& replicas) {
  const Workload& workload = *after.workload(id);
  if (workload.spec.priority_class != Class::kProduction) return {};
  for (const ReplicaPlacement& item : replicas) {
    QuotaKey key{.pool = after.node(item.placement.node)->pool, .resource = Resource::kGpu, .model = {}};
    if (item.placement.grants.empty()) continue;
    for (const TreeNode* node : path_to_root(after, workload.spec.project)) {
      auto quota = node->quotas.find(key);
      if (node->name == kRootTree || (quota != node->quotas.end() && quota->second.rest)) continue;
      int64_t guaranteed = quota == node->quotas.end() ? 0 : quota->second.guaranteed;
      int64_t held = held_below(after, node->name, key, Counted::kProduction);
      if (held > guaranteed)
        return fmt::format("production {} starts and {} then holds {} of a guarantee of {}", name_of(after, id),
                           node->name.text, held, guaranteed);
    }
  }
  return {};
}

using Taken = std::map<DeviceKey, Share>;

void add(Taken& taken, const Placement& placement) {
  for (const Grant& grant : placement.grants) taken[{placement.node, grant.slot}] += grant.share;
}

// What is given and claimed. Those who leave for somebody hold what is claimed until they
// have left: they are not counted, unless it is `id` itself.
Taken taken_and_claimed(const State& state, WorkloadId id) {
  Taken taken;
  each_holder(state, [&](const Workload& workload, const Attempt& attempt, const Replica& replica) {
    bool leaves = attempt.state == AttemptState::kStopping || replica.end_asked;
    if (!leaves || workload.id == id) add(taken, replica.placement);
  });
  for (const auto& [owner, claim] : state.claims) {
    for (const ReplicaPlacement& place : claim->places) add(taken, place.placement);
  }
  return taken;
}

Violation check_room(const Taken& taken, const std::vector<ReplicaPlacement>& places, std::string_view complaint) {
  for (const ReplicaPlacement& item : places) {
    for (const Grant& grant : item.placement.grants) {
      auto found = taken.find({item.placement.node, grant.slot});
      if (found != taken.end() && found->second > kWholeDevice)
        return fmt::format("{} {}, of which {} thousandths are then taken or claimed", complaint, grant.gpu.text,
                           found->second.milli);
    }
  }
  return {};
}

Violation check_claimed(const State& after, WorkloadId id, const std::vector<ReplicaPlacement>& replicas) {
  return check_room(taken_and_claimed(after, id), replicas, name_of(after, id) + " starts on");
}

Violation check_start_event(const State& before, const State& after, WorkloadId id,
                            const std::vector<ReplicaPlacement>& replicas) {
  if (Violation violation = check_places(before, id, replicas)) return violation;
  if (Violation violation = check_limits(after, id, replicas)) return violation;
  if (Violation violation = check_claimed(after, id, replicas)) return violation;
  return check_production(after, id, replicas);
}

Violation check_body(const State& before, const event::AttemptStarted& event, const State& after) {
  const Workload& workload = *after.workload(event.workload);
  auto count = std::ssize(event.replicas);
  if (count < workload.spec.replicas.min || count > workload.spec.replicas.max)
    return fmt::format("{} starts with {} replicas", name_of(after, event.workload), count);
  if (before.workload(event.workload)->eligible_from > after.now)
    return fmt::format("{} starts in its back-off", name_of(after, event.workload));
  return check_start_event(before, after, event.workload, event.replicas);
}

Violation check_body(const State& before, const event::ReplicasAdded& event, const State& after) {
  const Workload& workload = *after.workload(event.workload);
  auto live = std::ranges::count_if(workload.live()->replicas, [](const Replica& replica) {
    return replica.state != ReplicaState::kExited && !replica.end_asked;
  });
  if (live > workload.spec.replicas.max)
    return fmt::format("{} grows to {} replicas", name_of(after, event.workload), live);
  return check_start_event(before, after, event.workload, event.replicas);
}

// The plan showed that its owner starts when the victims have left.
Violation check_body(const State&, const event::ClaimMade& event, const State& after) {
  const Claim& claim = event.claim;
  const Workload& workload = *after.workload(claim.owner);
  if (std::ssize(claim.places) < workload.spec.replicas.min)
    return fmt::format("{} claims {} places", name_of(after, claim.owner), claim.places.size());
  if (claim.expires <= claim.made) return fmt::format("the claim of {} is over at once", name_of(after, claim.owner));
  return check_room(taken_and_claimed(after, {}), claim.places, name_of(after, claim.owner) + " claims");
}

// ---- Ends ----

// Who may end whom, by cause: the table of the rules.
Violation check_cause(const State& before, WorkloadId victim_id, Cause cause, WorkloadId for_id) {
  const Workload& victim = *before.workload(victim_id);
  const Workload* winner = before.workload(for_id);
  bool production = victim.spec.priority_class == Class::kProduction;
  switch (cause) {
    case Cause::kHigherClass:
      if (winner == nullptr || production || !is_above(winner->spec.priority_class, victim.spec.priority_class))
        return fmt::format("{} is evicted by no higher class", name_of(before, victim_id));
      return {};
    case Cause::kHigherPriority:
      if (winner == nullptr || production || winner->spec.priority_class != victim.spec.priority_class ||
          winner->spec.project != victim.spec.project || winner->spec.priority <= victim.spec.priority)
        return fmt::format("{} is evicted by no higher priority", name_of(before, victim_id));
      return {};
    case Cause::kGuaranteeReclaim: return check_reclaim(before, victim, winner);
    case Cause::kFairShareReclaim:
    case Cause::kMove:
    case Cause::kIdle:
    case Cause::kBudget:
      if (production) return fmt::format("production {} is ended by {}", name_of(before, victim_id), to_text(cause));
      return {};
    case Cause::kDrain:
    case Cause::kUnhealthy:
    case Cause::kGangBelowMinimum:
    case Cause::kLimit:
    case Cause::kNone: return {};
  }
  MOULIN_UNREACHABLE();
}

Violation check_body(const State& before, const event::AttemptEnded& event, const State& after) {
  bool wanted = before.workload(event.workload)->pause_wanted;
  if (wanted && after.workload(event.workload)->state == WorkloadState::kWaiting)
    return fmt::format("a pause of {} was forgotten", name_of(before, event.workload));
  return {};
}

Violation check_body(const State& before, const event::EndAsked& event, const State&) {
  if (event.intent == Intent::kPreempt && event.cause == Cause::kNone)
    return fmt::format("{} is preempted without a cause", name_of(before, event.workload));
  return check_cause(before, event.workload, event.cause, event.beneficiary);
}

Violation check_body(const State& before, const event::ReplicaEndAsked& event, const State&) {
  return check_cause(before, event.key.workload, event.cause, event.beneficiary);
}

template <class Body>
Violation check_body(const State&, const Body&, const State&) {
  return {};
}

Violation check_bytes(const Event& event) {
  std::string bytes = encode_event(event);
  Result<Event> back = decode_event(event.at, event_type(event.body), bytes);
  if (!back) return back.error().to_text();
  if (encode_event(*back) != bytes || back->actor != event.actor) return "an event does not read back";
  return {};
}

}  // namespace

Violation check_event(const State& before, const Event& event, const State& after) {
  if (after.sequence != before.sequence.next()) return "the sequence does not grow by one";
  if (after.now < before.now) return "time goes back";
  if (Violation violation = check_transition(before, event, after)) return violation;
  if (Violation violation = check_others_untouched(before, event, after)) return violation;
  if (Violation violation = check_bytes(event)) return violation;
  return std::visit([&](const auto& body) { return check_body(before, body, after); }, event.body);
}

}  // namespace moulin
