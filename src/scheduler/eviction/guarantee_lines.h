// The guarantee lines of the projects and departments that were asked about.
#pragma once

#include <map>
#include <optional>

#include "scheduler/eviction/guarantee_line.h"

namespace moulin {

class GuaranteeLines {
 public:
  // Both must outlive it.
  GuaranteeLines(const Overlay& overlay, const Departures& departures) : overlay_(overlay), departures_(departures) {}

  // Of a project or a department.
  const GuaranteeLine& of(const TreeName& at);
  // Whether some of the victim, which stays below `at`, is above the line there. Quick where
  // everything there is inside the guarantee.
  bool is_above(const TreeName& at, const Workload& victim, const Departures& gone);
  // Whether any child of that tree node may hold more than its guarantee: a quick bound.
  bool may_any_be_above(const TreeName& parent, const QuotaKey& key);
  // False: no department has a quota, so that none guards anybody.
  bool may_departments_guard();
  // From the tree node to the root.
  const TreePath& path(const TreeName& at);
  // One of that project was asked to leave; it is among the departures from now on.
  void depart(const TreeName& project, const ReplicaRef& ref);

 private:
  GuaranteeLine make(const TreeName& at);

  const Overlay& overlay_;
  const Departures& departures_;
  std::map<TreeName, GuaranteeLine> lines_;
  std::map<TreeName, TreePath> paths_;
  std::map<std::pair<TreeName, QuotaKey>, bool> all_inside_;  // as the state has it
  std::map<std::pair<TreeName, QuotaKey>, bool> any_above_;   // as the state has it
  std::optional<bool> departments_guard_;
};

}  // namespace moulin
