#include "scheduler/eviction/stock.h"

#include <algorithm>
#include <tuple>

namespace moulin {

const std::vector<NodeStock>& UnitStock::nodes() {
  fill();
  return nodes_;
}

std::optional<NodeIndex> UnitStock::find(const NodeName& name) {
  auto at = std::ranges::lower_bound(nodes(), name, {}, &NodeStock::name);
  if (at == nodes_.end() || at->name != name) return std::nullopt;
  return NodeIndex{static_cast<size_t>(at - nodes_.begin())};
}

void UnitStock::fill() {
  if (filled_) return;
  filled_ = true;
  for (const auto& [name, room] : overlay_.room().nodes()) {
    if (room->open && overlay_.index().holders(name) != nullptr) nodes_.push_back({.name = name});
  }
  for (const auto& [project, live] : overlay_.index().live()) {
    for (const auto& [hold, member] : *live) add_units(*overlay_.state().workload(hold.id));
  }
  for (NodeStock& node : nodes_) sort_units(node);
}

void UnitStock::sort_units(NodeStock& node) {
  std::ranges::sort(node.units, [this](UnitIndex a, UnitIndex b) { return is_cheaper(a, b); });
}

bool UnitStock::is_cheaper(UnitIndex a, UnitIndex b) const {
  const Unit& one = unit(a);
  const Unit& other = unit(b);
  if (one.cost != other.cost) return one.cost < other.cost;
  if (one.workload->id != other.workload->id) return one.workload->id < other.workload->id;
  return one.replicas.back()->index > other.replicas.back()->index;  // of two surplus replicas the last
}

void UnitStock::add_units(const Workload& workload) {
  std::vector<UnitIndex>& mine = by_workload_[workload.id];
  for (Unit& unit : units_of(workload, departures_, overlay_.now())) {
    bool never = workload.spec.priority_class == Class::kProduction && unit.kind != UnitKind::kLeaving;
    if (never) continue;
    UnitIndex index{units_.size()};
    units_.push_back(std::move(unit));
    above_.push_back(Above::kUnknown);
    mine.push_back(index);
    for (const Replica* replica : units_.back().replicas) {
      std::optional<NodeIndex> node = find(replica->placement.node);
      if (!node) continue;
      std::vector<UnitIndex>& here = nodes_[node->value].units;
      if (here.empty() || here.back() != index) here.push_back(index);
    }
  }
}

void UnitStock::drop_units(const Workload& workload) {
  for (UnitIndex index : by_workload_[workload.id]) {
    for (const Replica* replica : unit(index).replicas) {
      if (auto node = find(replica->placement.node)) std::erase(nodes_[node->value].units, index);
    }
  }
  by_workload_.erase(workload.id);
}

std::vector<UnitIndex> UnitStock::sorted(By by) {
  fill();
  std::vector<UnitIndex> order;
  for (const auto& [id, units] : by_workload_) order.insert(order.end(), units.begin(), units.end());
  std::ranges::sort(order, [&](UnitIndex a, UnitIndex b) {
    if (by == By::kSize) {
      auto size_a = std::tie(unit(a).gpu, unit(a).cpu);
      auto size_b = std::tie(unit(b).gpu, unit(b).cpu);
      if (size_a != size_b) return size_a < size_b;
    }
    return is_cheaper(a, b);
  });
  return order;
}

bool UnitStock::is_above_line(UnitIndex index) {
  Above& above = above_[index.value];
  if (above == Above::kUnknown) {
    above = lines_.is_above(unit(index).workload->spec.project, *unit(index).workload, {}) ? Above::kYes : Above::kNo;
  }
  return above == Above::kYes;
}

void UnitStock::forget_above(const TreeName& project) {
  const Cow<KeySet<HoldKey>>* live = overlay_.index().live().find(project);
  if (live == nullptr) return;
  for (const auto& [hold, member] : **live) {
    for (UnitIndex index : by_workload_[hold.id]) above_[index.value] = Above::kUnknown;
  }
}

void UnitStock::depart(const Departures& gone) {
  std::set<WorkloadId> changed;
  for (const ReplicaRef& ref : gone) {
    if (!departures_.insert(ref).second) continue;
    lines_.depart(overlay_.state().workload(ref.workload)->spec.project, ref);
    changed.insert(ref.workload);
  }
  if (!filled_) return;
  for (WorkloadId id : changed) {
    const Workload& workload = *overlay_.state().workload(id);
    drop_units(workload);
    add_units(workload);
    forget_above(workload.spec.project);
    for (UnitIndex index : by_workload_[id]) {
      for (const Replica* replica : unit(index).replicas) {
        if (auto node = find(replica->placement.node)) sort_units(nodes_[node->value]);
      }
    }
  }
}

}  // namespace moulin
