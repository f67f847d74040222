#include "scheduler/eviction/roster.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace moulin {

Roster::Roster(Overlay& overlay, const Applicant& applicant, const Departures& departures)
    : overlay_(overlay), applicant_(applicant), lines_(overlay, departures) {
  for (Unit& unit : admissible_units(overlay, applicant, departures, lines_)) units_.push_back({std::move(unit)});
  overlay_.touch(std::ssize(units_));
  for (UnitIndex index : sorted(By::kCost)) {
    for (const Replica* replica : unit(index).replicas) {
      const NodeRoom* node = overlay.room().node(replica->placement.node);
      if (node == nullptr || !node->open || !may_use_pool(applicant.spec, node->pool)) continue;
      std::vector<UnitIndex>& here = by_node_[replica->placement.node];
      if (here.empty() || here.back() != index) here.push_back(index);
    }
  }
}

std::vector<UnitIndex> Roster::sorted(By by) const {
  std::vector<UnitIndex> order(units_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = {i};
  auto rank = [&](UnitIndex index) {
    const Unit& unit = this->unit(index);
    bool size_matters = by == By::kSize;
    return std::tuple(size_matters ? unit.gpu : Share{}, size_matters ? unit.cpu : CpuMilli{}, unit.cost,
                      unit.workload->id, unit.whole, -unit.replicas.front()->index.value);
  };
  std::ranges::sort(order, {}, rank);
  return order;
}

Account Roster::account(const Unit& unit, Hold hold) {
  const WorkloadSpec& spec = unit.workload->spec;
  return {overlay_.path(spec.project), spec.priority_class, hold};
}

bool Roster::has_left(const Unit& unit, const Replica& replica) const {
  return gone_.contains({unit.workload->id, replica.index});
}

bool Roster::leave(UnitIndex index) {
  Entry& entry = units_[index.value];
  const Unit& unit = entry.unit;
  if (std::ranges::all_of(unit.replicas, [&](const Replica* replica) { return has_left(unit, *replica); }))
    return false;
  Judgement now = judge_eviction(applicant_, *unit.workload, lines_, gone_, overlay_.now());
  if (now.protection != Protection::kNone) return false;
  for (const Replica* replica : unit.replicas) {
    if (has_left(unit, *replica)) continue;
    overlay_.remove(account(unit, Hold::kHeld), replica->placement);
    gone_.insert({unit.workload->id, replica->index});
    entry.freed.push_back(replica);
  }
  if (unit.whole) absorb_surplus(unit, entry);
  left_.push_back(index);
  return true;
}

void Roster::absorb_surplus(const Unit& whole, Entry& into) {
  std::erase_if(left_, [&](UnitIndex index) {
    Entry& other = units_[index.value];
    if (other.unit.workload != whole.workload) return false;
    into.freed.insert(into.freed.end(), other.freed.begin(), other.freed.end());
    other.freed.clear();
    return true;
  });
}

void Roster::stay(UnitIndex index) {
  MOULIN_CHECK(std::erase(left_, index) == 1, "it did not leave");
  Entry& entry = units_[index.value];
  for (const Replica* replica : entry.freed) {
    overlay_.place(account(entry.unit, Hold::kHeld), replica->placement);
    gone_.erase({entry.unit.workload->id, replica->index});
  }
  entry.freed.clear();
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

}  // namespace moulin
