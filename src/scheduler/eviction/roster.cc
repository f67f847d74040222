#include "scheduler/eviction/roster.h"

#include <algorithm>
#include <functional>

#include "scheduler/eviction/min_runtime.h"

namespace moulin {

Account Roster::account(const Unit& unit, Hold hold) const {
  const WorkloadSpec& spec = unit.workload->spec;
  return {overlay_.path(spec.project), spec.priority_class, hold};
}

const std::vector<const Replica*>& Roster::freed(UnitIndex index) const {
  static const std::vector<const Replica*> kNone;
  auto found = freed_.find(index);
  return found == freed_.end() ? kNone : found->second;
}

Judgement Roster::judge(UnitIndex index, const Departures& gone) const {
  const Workload& workload = *unit(index).workload;
  IsAbove is_above = [&](const Workload& victim, const TreeName& at) {
    if (gone.empty() && at == victim.spec.project) return stock_.is_above_line(index);
    return stock_.lines().is_above(at, victim, gone);
  };
  Judgement judgement = judge_eviction(applicant_, rights_, {workload, stock_.lines(), is_above}, overlay_.now());
  bool runs = workload.attempts.back().running_since != Instant{};
  if (judgement.protection == Protection::kMinRuntime && runs) overlay_.protected_until(min_runtime_ends(workload));
  return judgement;
}

bool Roster::may_leave(UnitIndex index) const {
  const Unit& unit = this->unit(index);
  auto left = [&](const Replica* replica) { return has_left(unit, *replica); };
  if (unit.workload->id == applicant_.id) return false;
  if (!gone_.empty() && std::ranges::all_of(unit.replicas, left)) return false;
  return unit.kind == UnitKind::kLeaving || judge(index, gone_).protection == Protection::kNone;
}

// What was right before anybody left: the others only ever add protections.
Cause Roster::cause(UnitIndex index) const { return judge(index, {}).cause; }

bool Roster::leave(UnitIndex index) {
  if (!may_leave(index)) return false;
  leave_again(index);
  return true;
}

void Roster::leave_again(UnitIndex index) {
  const Unit& unit = this->unit(index);
  std::vector<const Replica*>& freed = freed_[index];
  for (const Replica* replica : unit.replicas) {
    if (has_left(unit, *replica)) continue;
    overlay_.remove(account(unit, unit.hold()), replica->placement);
    gone_.insert({unit.workload->id, replica->index});
    freed.push_back(replica);
  }
  if (unit.kind == UnitKind::kWhole) absorb_surplus(unit, freed);
  left_.push_back(index);
}

void Roster::absorb_surplus(const Unit& whole, std::vector<const Replica*>& into) {
  std::erase_if(left_, [&](UnitIndex index) {
    const Unit& other = unit(index);
    if (other.workload != whole.workload || other.kind != UnitKind::kSurplus) return false;
    into.insert(into.end(), freed_[index].begin(), freed_[index].end());
    freed_.erase(index);
    return true;
  });
}

void Roster::stay(UnitIndex index) {
  MOULIN_CHECK(std::erase(left_, index) == 1, "it did not leave");
  const Unit& unit = this->unit(index);
  for (const Replica* replica : freed_[index]) {
    overlay_.place(account(unit, unit.hold()), replica->placement);
    gone_.erase({unit.workload->id, replica->index});
  }
  freed_.erase(index);
}

void Roster::all_stay() {
  while (!left_.empty()) stay(left_.back());
}

void Roster::settle() {
  for (UnitIndex index : left_) {
    for (const Replica* replica : freed(index))
      overlay_.place(account(unit(index), Hold::kLeaving), replica->placement);
  }
}

Departures Roster::evicted() const {
  Departures evicted;
  for (UnitIndex index : left_) {
    if (unit(index).kind == UnitKind::kLeaving) continue;
    for (const Replica* replica : freed(index)) evicted.insert({unit(index).workload->id, replica->index});
  }
  return evicted;
}

}  // namespace moulin
