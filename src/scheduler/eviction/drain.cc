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

// The units that must leave: some surplus replicas if that is enough, else the whole.
std::vector<Unit> units_to_drain(const Overlay& overlay, const Workload& workload, const Departures& departures) {
  auto cause_of = [&](const Unit& unit) {
    for (const Replica* replica : unit.replicas) {
      if (Cause cause = drain_cause(overlay, replica->placement); cause != Cause::kNone) return cause;
    }
    return Cause::kNone;
  };
  std::vector<Unit> leaving;
  std::vector<Unit> units = units_of(workload, Cause::kNone, departures, overlay.now());
  size_t touched = 0;
  for (Unit& unit : units) {
    unit.cause = cause_of(unit);
    if (unit.cause == Cause::kNone) continue;
    if (!unit.whole) {
      leaving.push_back(unit);
      continue;
    }
    for (const Replica* replica : unit.replicas) {
      touched += drain_cause(overlay, replica->placement) != Cause::kNone ? 1 : 0;
    }
    if (touched > leaving.size()) leaving = {unit};
  }
  return leaving;
}

EvictItem item_of(const std::vector<Unit>& units) {
  EvictItem item{.victim = units.front().workload->id, .replicas = {}, .cause = units.front().cause};
  for (const Unit& unit : units) {
    if (!unit.whole) item.replicas.push_back(unit.replicas.front()->index);
  }
  std::ranges::sort(item.replicas);
  return item;
}

}  // namespace

std::optional<Eviction> plan_drain(Overlay& overlay, const Workload& workload, const Departures& departures) {
  std::vector<Unit> units = units_to_drain(overlay, workload, departures);
  if (units.empty()) return std::nullopt;
  Eviction eviction{.items = {item_of(units)}};
  Applicant applicant{workload.spec, overlay.path(workload.spec.project), workload.id};
  Overlay::Mark mark = overlay.checkpoint();
  auto change_all = [&](auto change) {
    for (const Unit& unit : units) {
      for (const Replica* replica : unit.replicas) change(replica->placement);
    }
  };
  change_all([&](const Placement& place) { overlay.remove(applicant.account(Hold::kHeld), place); });
  if (workload.spec.priority_class == Class::kProduction) {
    bool whole = units.front().whole;
    int64_t wanted = whole ? workload.spec.replicas.min : std::ssize(units);
    Overlay::Mark before_places = overlay.checkpoint();
    auto places = place_gang(overlay, applicant, Hold::kClaimed, {.first = 0, .count = wanted});
    if (!places) {
      overlay.rollback(mark);
      return std::nullopt;
    }
    if (!whole) overlay.rollback(before_places);  // growth finds the place again
    if (whole) {
      eviction.items.front().beneficiary = workload.id;
      eviction.claim = {.owner = workload.id,
                        .places = *std::move(places),
                        .victims = {workload.id},
                        .made = overlay.now(),
                        .expires = overlay.now() + workload.spec.grace + kClaimSpare};
    }
  }
  change_all([&](const Placement& place) { overlay.place(applicant.account(Hold::kLeaving), place); });
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
