// What it would cost to make room for one replica on one node.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/eviction/roster.h"

namespace moulin {

struct NodeOption {
  EvictionCost cost{};
  std::vector<UnitIndex> units{};  // none of them superfluous; all admissible by themselves
};

// Units are taken in order of cost until a replica fits, then those that turn out not to
// be needed are put back, the dearest first. Absent: a replica does not fit even without
// them all. Limits of the quota tree are not looked at.
std::optional<NodeOption> cheapest_option(const Roster& roster, const NodeRoom& node, const Resources& resources,
                                          const std::vector<UnitIndex>& units, const NodeName& name);

// How many replicas the node holds at most when all of these units have left.
int64_t replicas_without(const Roster& roster, const NodeRoom& node, const Resources& resources,
                         const std::vector<UnitIndex>& units, const NodeName& name);

}  // namespace moulin
