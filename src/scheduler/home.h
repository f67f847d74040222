// Where a workload counts while it waits, and as what: for order and for demand.
#pragma once

#include <vector>

#include "base/cow_map.h"
#include "model/workload_spec.h"
#include "scheduler/amounts.h"
#include "scheduler/room.h"

namespace moulin {

// Nodes of one make: everything that matters of an empty node.
struct NodeMake {
  CpuMilli cpu{};
  Bytes memory{};
  FreeShape empty{};  // all devices healthy, free and without foreign processes
  auto operator<=>(const NodeMake&) const = default;
};
// Registered nodes by make: how many of each.
using NodeMakes = CowMap<NodeMake, int64_t>;

// The pool in which a workload counts: the first of its list; without a list, the default
// pool if it has nodes, else the first that has.
PoolName home_pool(const NodeMakes& makes, const WorkloadSpec& spec);

// What the minimum of replicas asks for in one pool, at the largest share that it can take
// there.
std::vector<Holding> asked_in(const NodeMakes& makes, const WorkloadSpec& spec, const PoolName& pool);

// The same in its home pool.
std::vector<Holding> asked(const NodeMakes& makes, const WorkloadSpec& spec);

}  // namespace moulin
