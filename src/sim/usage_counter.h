// Who holds how much, counted from the replicas and nothing else.
#pragma once

#include <map>
#include <string>

#include "model/state.h"

namespace moulin {

struct DeviceKey {
  NodeName node{};
  int32_t slot = 0;
  auto operator<=>(const DeviceKey&) const = default;
};

struct HeldOfDevice {
  Share share{};
  Bytes memory{};
};

struct HeldOfNode {
  CpuMilli cpu{};
  Bytes memory{};
};

// Calls `visit(workload, attempt, replica)` for each replica that holds its placement.
template <class Visit>
void each_holder(const State& state, Visit&& visit) {
  for (const auto& [id, workload] : state.workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas) {
      if (replica.state != ReplicaState::kExited) visit(*workload, *attempt, replica);
    }
  }
}

std::map<DeviceKey, HeldOfDevice> held_devices(const State& state);
std::map<NodeName, HeldOfNode> held_nodes(const State& state);

// What of the key's pool, resource and model is in this placement.
int64_t amount_of(const State& state, const Placement& placement, const QuotaKey& key);

enum class Counted { kAll, kProduction };

// What the subtree of `at` holds.
int64_t held_below(const State& state, const TreeName& at, const QuotaKey& key, Counted counted);

// Healthy and unhealthy, of nodes that are up and down: what is registered.
int64_t capacity(const State& state, const QuotaKey& key);

}  // namespace moulin
