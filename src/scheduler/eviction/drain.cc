#include "scheduler/eviction/drain.h"

#include <algorithm>

#include "scheduler/claims.h"
#include "scheduler/placement/place.h"

namespace moulin {

namespace {

Cause drain_cause(const Overlay& overlay, const Placement& placement) {
  const Node* node = overlay.state().node(placement.node);
  if (node == nullptr) return Cause::kNone;
  if (node->mode == NodeMode::kDraining) return Cause::kDrain;
  bool sick = std::ranges::any_of(placement.grants, [&](const Grant& grant) {
    auto slot = static_cast<size_t>(grant.slot);
    return slot < node->gpus.size() && node->gpus[slot].health == Health::kUnhealthy;
  });
  return sick ? Cause::kUnhealthy : Cause::kNone;
}

// What must leave: some surplus replicas if that is enough, else the whole.
struct Drain {
  Cause cause = Cause::kNone;
  bool whole = false;
  std::vector<const Replica*> replicas{};
};

Drain what_drains(const Overlay& overlay, const Workload& workload, const Departures& departures) {
  Drain drain;
  size_t affected = 0;
  for (const Unit& unit : units_of(workload, departures, overlay.now())) {
    if (unit.kind == UnitKind::kLeaving) continue;
    affected = 0;
    for (const Replica* replica : unit.replicas) {
      Cause cause = drain_cause(overlay, replica->placement);
      if (cause == Cause::kNone) continue;
      ++affected;
      drain.cause = cause;
      if (unit.kind == UnitKind::kSurplus) drain.replicas.push_back(replica);
    }
    bool surplus_is_not_enough = unit.kind == UnitKind::kWhole && affected > drain.replicas.size();
    if (surplus_is_not_enough) drain = {drain.cause, true, unit.replicas};
  }
  return drain;
}

EvictItem item_of(const Workload& workload, const Drain& drain) {
  EvictItem item{.victim = workload.id, .replicas = {}, .cause = drain.cause};
  if (drain.whole) return item;
  for (const Replica* replica : drain.replicas) item.replicas.push_back(replica->index);
  std::ranges::sort(item.replicas);
  return item;
}

void claim_for_itself(Eviction& eviction, const Overlay& overlay, const Workload& workload,
                      std::vector<ReplicaPlacement> places) {
  eviction.items.front().beneficiary = workload.id;
  eviction.claim = {.owner = workload.id,
                    .places = std::move(places),
                    .victims = {workload.id},
                    .made = overlay.now(),
                    .expires = overlay.now() + workload.spec.grace + kClaimSpare};
}

}  // namespace

std::optional<Eviction> plan_drain(Overlay& overlay, const Workload& workload, const Departures& departures) {
  Drain drain = what_drains(overlay, workload, departures);
  if (drain.replicas.empty()) return std::nullopt;
  Eviction eviction{.items = {item_of(workload, drain)}};
  Applicant applicant{workload.spec, overlay.path(workload.spec.project), workload.id};
  Overlay::Mark mark = overlay.checkpoint();
  for (const Replica* replica : drain.replicas) overlay.remove(applicant.account(Hold::kHeld), replica->placement);
  if (workload.spec.priority_class == Class::kProduction) {
    int64_t wanted = drain.whole ? workload.spec.replicas.min : std::ssize(drain.replicas);
    Overlay::Mark before_places = overlay.checkpoint();
    auto places = place_gang(overlay, applicant, Hold::kClaimed, {.first = 0, .count = wanted});
    if (!places) {
      overlay.rollback(mark);
      return std::nullopt;
    }
    if (drain.whole)
      claim_for_itself(eviction, overlay, workload, *std::move(places));
    else
      overlay.rollback(before_places);  // growth finds the place again
  }
  for (const Replica* replica : drain.replicas) overlay.place(applicant.account(Hold::kLeaving), replica->placement);
  return eviction;
}

std::vector<WorkloadId> drained_workloads(const Index& index) {
  std::set<WorkloadId> found;
  for (const auto& [node, member] : index.impaired()) {
    const KeySet<Holder>* holders = index.holders(node);
    if (holders == nullptr) continue;
    for (const auto& [holder, held] : *holders) found.insert(holder.workload);
  }
  return {found.begin(), found.end()};
}

}  // namespace moulin
