// All units of all live workloads, by cost and by node: made once for a pass, and kept up
// with what the pass asks to leave.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "scheduler/eviction/causes.h"

namespace moulin {

// Position of a unit in a UnitStock; the same for its whole life.
struct UnitIndex {
  size_t value = 0;
  auto operator<=>(const UnitIndex&) const = default;
};

// An open node with units, the cheapest first: what leaves already, surplus, wholes.
struct NodeStock {
  NodeName name{};
  std::vector<UnitIndex> units{};
};
// Position of a node in UnitStock::nodes(): in order of name.
struct NodeIndex {
  size_t value = 0;
  auto operator<=>(const NodeIndex&) const = default;
};

class UnitStock {
 public:
  // Of everything that holds a place on the overlay, which must outlive it. Production is
  // left out unless it is leaving. Nothing is done before the first question.
  explicit UnitStock(const Overlay& overlay) : overlay_(overlay), lines_(overlay, departures_) {}

  // Requires an index that nodes() or sorted() gave.
  const Unit& unit(UnitIndex index) const { return units_[index.value]; }

  // By name; the list and its order stay the same.
  const std::vector<NodeStock>& nodes();
  const NodeStock& node(NodeIndex index) const { return nodes_[index.value]; }
  std::optional<NodeIndex> find(const NodeName& name);

  // All units, cheapest first or smallest first.
  enum class By { kCost, kSize };
  std::vector<UnitIndex> sorted(By by);

  // These replicas were asked to leave.
  void depart(const Departures& gone);
  const Departures& departures() const { return departures_; }

  // Of the projects as they are with the departures.
  GuaranteeLines& lines() { return lines_; }
  // Whether some of the unit's workload is above the line of its project: remembered.
  bool is_above_line(UnitIndex index);

 private:
  void fill();
  bool is_cheaper(UnitIndex a, UnitIndex b) const;
  void forget_above(const TreeName& project);
  void sort_units(NodeStock& node);
  void add_units(const Workload& workload);
  void drop_units(const Workload& workload);

  const Overlay& overlay_;
  Departures departures_;
  GuaranteeLines lines_;
  enum class Above : char { kUnknown, kNo, kYes };
  std::vector<Unit> units_;
  std::vector<Above> above_;                                  // by unit
  std::map<WorkloadId, std::vector<UnitIndex>> by_workload_;  // those in use
  std::vector<NodeStock> nodes_;
  bool filled_ = false;
};

}  // namespace moulin
