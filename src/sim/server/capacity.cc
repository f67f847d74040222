// check_capacity(): counts what is given and claimed once more.
#include <fmt/format.h>

#include "sim/server/watcher_parts.h"
#include "sim/usage_counter.h"

namespace moulin::sim {

namespace {

struct Given {
  std::map<DeviceKey, int64_t> milli;
  std::map<NodeName, HeldOfNode> nodes;
};

void add(Given& given, const Placement& placement) {
  for (const Grant& grant : placement.grants) given.milli[{placement.node, grant.slot}] += grant.share.milli;
  given.nodes[placement.node].cpu += placement.cpu;
  given.nodes[placement.node].memory += placement.memory;
}

Given count(const State& state) {
  Given given;
  each_holder(state, [&](const Workload&, const Attempt&, const Replica& replica) { add(given, replica.placement); });
  for (const auto& [owner, claim] : state.claims) {
    for (const ReplicaPlacement& place : claim->places) add(given, place.placement);
  }
  return given;
}

Violation check_node(const Node& node, const NodeRoom& room, Given& given) {
  const HeldOfNode& held = given.nodes[node.name];
  if (room.free_cpu + held.cpu != node.cpu || room.free_memory + held.memory != node.memory)
    return fmt::format("{}: {} of CPU and {} of memory are free while {} and {} are given", node.name.text,
                       to_text(room.free_cpu), to_text(room.free_memory), to_text(held.cpu), to_text(held.memory));
  bool open = node.mode == NodeMode::kOpen && node.presence == Presence::kUp;
  if (room.open != open) return fmt::format("{} is {}open for the scheduler", node.name.text, room.open ? "" : "not ");
  for (size_t slot = 0; slot < node.gpus.size(); ++slot) {
    const Gpu& gpu = node.gpus[slot];
    const DeviceRoom* device = room.device(static_cast<int32_t>(slot));
    if (device == nullptr) return fmt::format("{} is not known to the scheduler", gpu.uuid.text);
    int64_t held_milli = given.milli[{node.name, static_cast<int32_t>(slot)}];
    if (device->free.milli + held_milli != kWholeDevice.milli)
      return fmt::format("{}: {} thousandths are free while {} are given or claimed", gpu.uuid.text, device->free.milli,
                         held_milli);
    if (device->offered != (gpu.health == Health::kHealthy))
      return fmt::format("{} is {} and {}offered", gpu.uuid.text, to_text(gpu.health), device->offered ? "" : "not ");
    if (device->foreign != (gpu.foreign_processes > 0 || gpu.foreign_memory.count > 0))
      return fmt::format("{}: foreign processes are not counted", gpu.uuid.text);
  }
  return {};
}

}  // namespace

Violation check_capacity(const Published& view) {
  Given given = count(view.state);
  for (const auto& [name, node] : view.state.nodes) {
    const NodeRoom* room = view.index.room().node(name);
    if (room == nullptr) return name.text + " is not known to the scheduler";
    if (Violation violation = check_node(*node, *room, given)) return violation;
  }
  return {};
}

}  // namespace moulin::sim
