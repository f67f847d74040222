#include "sim/usage_counter.h"

namespace moulin {

std::map<DeviceKey, HeldOfDevice> held_devices(const State& state) {
  std::map<DeviceKey, HeldOfDevice> devices;
  each_holder(state, [&](const Workload&, const Attempt&, const Replica& replica) {
    for (const Grant& grant : replica.placement.grants) {
      HeldOfDevice& held = devices[{replica.placement.node, grant.slot}];
      held.share += grant.share;
      held.memory += grant.memory;
    }
  });
  return devices;
}

std::map<NodeName, HeldOfNode> held_nodes(const State& state) {
  std::map<NodeName, HeldOfNode> nodes;
  each_holder(state, [&](const Workload&, const Attempt&, const Replica& replica) {
    HeldOfNode& held = nodes[replica.placement.node];
    held.cpu += replica.placement.cpu;
    held.memory += replica.placement.memory;
  });
  return nodes;
}

int64_t amount_of(const State& state, const Placement& placement, const QuotaKey& key) {
  const Node* node = state.node(placement.node);
  if (node == nullptr || node->pool != key.pool) return 0;
  if (key.resource == Resource::kCpu) return placement.cpu.milli;
  if (key.resource == Resource::kMemory) return placement.memory.count;
  int64_t milli = 0;
  for (const Grant& grant : placement.grants) {
    auto slot = static_cast<size_t>(grant.slot);
    bool counts = key.model.empty() || (slot < node->gpus.size() && node->gpus[slot].model == key.model);
    if (counts) milli += grant.share.milli;
  }
  return milli;
}

int64_t held_below(const State& state, const TreeName& at, const QuotaKey& key, Counted counted) {
  int64_t sum = 0;
  each_holder(state, [&](const Workload& workload, const Attempt&, const Replica& replica) {
    if (counted == Counted::kProduction && workload.spec.priority_class != Class::kProduction) return;
    for (const TreeNode* node : path_to_root(state, workload.spec.project)) {
      if (node->name == at) sum += amount_of(state, replica.placement, key);
    }
  });
  return sum;
}

int64_t capacity(const State& state, const QuotaKey& key) {
  int64_t sum = 0;
  for (const auto& [name, node] : state.nodes) {
    if (node->pool != key.pool) continue;
    if (key.resource == Resource::kCpu) sum += node->cpu.milli;
    if (key.resource == Resource::kMemory) sum += node->memory.count;
    if (key.resource != Resource::kGpu) continue;
    for (const Gpu& gpu : node->gpus) sum += key.model.empty() || gpu.model == key.model ? kWholeDevice.milli : 0;
  }
  return sum;
}

}  // namespace moulin
