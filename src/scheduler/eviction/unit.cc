#include "scheduler/eviction/unit.h"

#include <algorithm>

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

Unit unit_of(const Workload& workload, Cause cause) { return {.workload = &workload, .cause = cause}; }

void add(Unit& unit, const Replica& replica, Instant now) {
  unit.replicas.push_back(&replica);
  (unit.whole ? unit.cost.whole_lost : unit.cost.surplus_lost) += lost_by(*unit.workload, replica, now);
  unit.cost.wholes = unit.whole ? 1 : 0;
  unit.cost.count = 1;
  unit.cost.oldest = -unit.workload->attempts.back().created.us;
  unit.gpu += replica.placement.gpu_total();
  unit.cpu += replica.placement.cpu;
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
  return replica.state != ReplicaState::kExited && !replica.end_asked &&
         !departures.contains({workload.id, replica.index});
}

std::vector<Unit> units_of(const Workload& workload, Cause cause, const Departures& departures, Instant now) {
  std::vector<const Replica*> staying;
  for (const Replica& replica : workload.attempts.back().replicas) {
    if (stays(workload, replica, departures)) staying.push_back(&replica);
  }
  std::vector<Unit> units;
  int64_t surplus = std::ssize(staying) - workload.spec.replicas.min;
  // Only a running attempt may shrink, and the gang of a job is its first replicas.
  bool shrinks = workload.state == WorkloadState::kRunning;
  bool any_replica = workload.spec.kind == Kind::kService;
  for (auto at = staying.rbegin(); shrinks && surplus > 0 && at != staying.rend(); ++at, --surplus) {
    if (!any_replica && (*at)->index.value < workload.spec.replicas.min) break;
    Unit& unit = units.emplace_back(unit_of(workload, cause));
    unit.whole = false;
    add(unit, **at, now);
  }
  if (staying.empty()) return units;
  Unit& whole = units.emplace_back(unit_of(workload, cause));
  for (const Replica* replica : staying) add(whole, *replica, now);
  return units;
}

}  // namespace moulin
