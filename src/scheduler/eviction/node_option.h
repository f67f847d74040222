// What it would cost to make room for one replica on one node.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/eviction/roster.h"

namespace moulin {

struct NodeOption {
  EvictionCost cost{};
  std::vector<UnitIndex> units{};  // none of them superfluous; each may leave by itself
};

// Units are taken in order of cost until a replica fits, then those that turn out not to
// be needed are put back, the dearest first. Absent: a replica does not fit even without
// them all. Limits of the quota tree are not looked at.
std::optional<NodeOption> cheapest_option(const Roster& roster, const Resources& resources, const NodeStock& node,
                                          const NodeRoom& room);

// Never more than the cost of cheapest_option(), and quick: whether units may leave is not
// asked.
EvictionCost cost_bound(const UnitStock& stock, const Resources& resources, const NodeStock& node,
                        const NodeRoom& room);

// How many replicas the node holds when all units that may leave have left.
int64_t replicas_without(const Roster& roster, const Resources& resources, const NodeStock& node, const NodeRoom& room);

}  // namespace moulin
