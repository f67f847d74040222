#include "scheduler/eviction/unit.h"

#include <algorithm>

#include "scheduler/claims.h"

namespace moulin {

namespace {

int64_t class_weight(Class priority_class) {
  switch (priority_class) {
    case Class::kProduction: return 8;  // only moved, never preempted
    case Class::kTraining: return 4;
    case Class::kDevelopment: return 2;
    case Class::kBatch: return 1;
  }
  MOULIN_UNREACHABLE();
}

int64_t lost_by(const Workload& workload, const Replica& replica, Instant now) {
  Instant since = std::max(replica.placed, workload.attempts.back().checkpointed);
  Duration lost = now > since ? now - since : Duration{};
  if (!workload.spec.checkpoints) lost = std::min(lost, kLostMax);
  return gpu_time(replica.placement.gpu_total(), lost + kRestart).micro * class_weight(workload.spec.priority_class);
}

void add(Unit& unit, const Replica& replica, Instant now) {
  unit.replicas.push_back(&replica);
  unit.gpu += replica.placement.gpu_total();
  unit.cpu += replica.placement.cpu;
  if (unit.kind == UnitKind::kLeaving) return;
  bool whole = unit.kind == UnitKind::kWhole;
  (whole ? unit.cost.whole_lost : unit.cost.surplus_lost) += lost_by(*unit.workload, replica, now);
  unit.cost.wholes = whole ? 1 : 0;
  unit.cost.count = 1;
  unit.cost.oldest = -unit.workload->attempts.back().created.us;
}

Unit unit_of(const Workload& workload, UnitKind kind, const std::vector<const Replica*>& replicas, Instant now) {
  Unit unit{.workload = &workload, .kind = kind};
  for (const Replica* replica : replicas) add(unit, *replica, now);
  return unit;
}

// Those beyond the minimum, the last first. Only a running attempt may shrink, and the
// gang of a job is its first replicas.
std::vector<const Replica*> surplus_of(const Workload& workload, const std::vector<const Replica*>& staying) {
  std::vector<const Replica*> surplus;
  if (workload.state != WorkloadState::kRunning) return surplus;
  bool any_replica = workload.spec.kind == Kind::kService;
  for (auto at = staying.rbegin(); at != staying.rend(); ++at) {
    if (std::ssize(staying) - std::ssize(surplus) <= workload.spec.replicas.min) break;
    if (!any_replica && (*at)->index.value < workload.spec.replicas.min) break;
    surplus.push_back(*at);
  }
  return surplus;
}

}  // namespace

EvictionCost& EvictionCost::operator+=(const EvictionCost& other) {
  oldest = count == 0 ? other.oldest : std::max(oldest, other.oldest);
  whole_lost += other.whole_lost;
  wholes += other.wholes;
  surplus_lost += other.surplus_lost;
  count += other.count;
  return *this;
}

bool stays(const Workload& workload, const Replica& replica, const Departures& departures) {
  return workload.state != WorkloadState::kStopping && replica.state != ReplicaState::kExited && !replica.end_asked &&
         !departures.contains({workload.id, replica.index});
}

bool is_stuck(const Workload& workload, const Replica& replica, Instant now) {
  Instant leaves_by = std::max(replica.leaves_by, workload.attempts.back().leaves_by);
  return leaves_by != Instant{} && now >= leaves_by + kClaimSpare;
}

std::vector<Unit> units_of(const Workload& workload, const Departures& departures, Instant now) {
  std::vector<const Replica*> leaving;
  std::vector<const Replica*> staying;
  for (const Replica& replica : workload.attempts.back().replicas) {
    if (replica.state == ReplicaState::kExited || is_stuck(workload, replica, now)) continue;
    (stays(workload, replica, departures) ? staying : leaving).push_back(&replica);
  }
  std::vector<Unit> units;
  if (!leaving.empty()) units.push_back(unit_of(workload, UnitKind::kLeaving, leaving, now));
  for (const Replica* replica : surplus_of(workload, staying))
    units.push_back(unit_of(workload, UnitKind::kSurplus, {replica}, now));
  if (!staying.empty()) units.push_back(unit_of(workload, UnitKind::kWhole, staying, now));
  return units;
}

}  // namespace moulin
