#include "scheduler/placement/count.h"

#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

int64_t beside_gpus(CpuMilli cpu, Bytes memory, const Resources& resources) {
  return std::min(times({cpu.milli, resources.cpu.milli}), times({memory.count, resources.memory.count}));
}

int64_t replicas_in(const Group& group, const Resources& resources, int64_t each, int64_t enough) {
  if (resources.cpu.milli == 0 && resources.memory.count == 0)
    return std::min(each * static_cast<int64_t>(group.size()), enough);
  int64_t total = 0;
  auto at = resources.cpu.milli == 0 ? group.begin() : group.lower_bound({resources.cpu, {}});
  for (; at != group.end() && total < enough; ++at) {
    total += std::min(each, beside_gpus(at->first.free_cpu, at->second, resources));
  }
  return total;
}

}  // namespace

int64_t replicas_on(const NodeRoom& node, const Resources& resources) {
  return std::min(most_replicas(resources, shape_of(node)), beside_gpus(node.free_cpu, node.free_memory, resources));
}

int64_t replicas_that_fit(const Room& room, const WorkloadSpec& spec, int64_t enough) {
  int64_t total = 0;
  for (const auto& [shape, group] : room.groups()) {
    if (total >= enough) return enough;
    if (!group.may_hold(spec.resources) || !may_use_pool(spec, shape.pool)) continue;
    int64_t each = most_replicas(spec.resources, shape);
    if (each > 0) total += replicas_in(*group, spec.resources, each, enough);
  }
  return std::min(total, enough);
}

int64_t most_in_groups(const Room& room, const WorkloadSpec& spec, int64_t enough) {
  int64_t most = 0;
  for (const auto& [shape, group] : room.groups()) {
    if (!may_use_pool(spec, shape.pool)) continue;
    most += most_replicas(spec.resources, shape) * static_cast<int64_t>(group->size());
    if (most >= enough) return enough;
  }
  return most;
}

}  // namespace moulin
