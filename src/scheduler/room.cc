#include "scheduler/room.h"

#include <algorithm>

namespace moulin {

namespace {

// What the placement adds to the quota of its project and ancestors.
std::vector<Holding> holdings_of(const NodeRoom& node, const Placement& placement) {
  std::vector<Holding> holdings;
  Share total{};
  for (const Grant& grant : placement.grants) {
    const DeviceRoom* device = node.device(grant.slot);
    if (device == nullptr) continue;
    total += grant.share;
    bool same = holdings.size() == 1 && holdings.front().key.model == device->model;
    if (same)
      holdings.front().amount += grant.share.milli;
    else
      holdings.push_back({{node.pool, Resource::kGpu, device->model}, grant.share.milli});
  }
  if (total.milli > 0) holdings.push_back({{node.pool, Resource::kGpu, {}}, total.milli});
  if (placement.cpu.milli > 0) holdings.push_back({{node.pool, Resource::kCpu, {}}, placement.cpu.milli});
  if (placement.memory.count > 0) holdings.push_back({{node.pool, Resource::kMemory, {}}, placement.memory.count});
  return holdings;
}

void change_free(NodeRoom& node, const Placement& placement, int64_t direction) {
  node.free_cpu += placement.cpu * direction;
  node.free_memory += placement.memory * direction;
  for (const Grant& grant : placement.grants) {
    auto slot = static_cast<size_t>(grant.slot);
    if (slot >= node.devices.size()) continue;
    node.devices[slot].free += grant.share * direction;
    node.devices[slot].free_memory += grant.memory * direction;
  }
}

ShapeNodes empty_group(const FreeShape& shape) {
  ShapeNodes nodes;
  for (const OfferCount& entry : shape.offers) {
    nodes.most_free = std::max(nodes.most_free, entry.offer.free);
    if (entry.offer.whole()) nodes.whole += entry.count;
  }
  return nodes;
}

DeviceRoom device_room(const Gpu& gpu) {
  return {.slot = gpu.index,
          .model = gpu.model,
          .usable = gpu.usable(),
          .isolation = gpu.isolation,
          .offered = gpu.health == Health::kHealthy,
          .foreign = gpu.foreign_processes > 0 || gpu.foreign_memory.count > 0,
          .free = kWholeDevice,
          .free_memory = gpu.usable() - gpu.foreign_memory};
}

}  // namespace

NodeRoom room_of(const Node& node) {
  NodeRoom room{.pool = node.pool,
                .open = node.mode == NodeMode::kOpen && node.presence == Presence::kUp,
                .free_cpu = node.cpu,
                .free_memory = node.memory,
                .devices = {}};
  for (const Gpu& gpu : node.gpus) room.devices.push_back(device_room(gpu));
  return room;
}

void take(NodeRoom& node, const Placement& placement) { change_free(node, placement, -1); }

void give_back(NodeRoom& node, const Placement& placement) { change_free(node, placement, 1); }

bool ShapeNodes::may_hold(const Resources& resources) const {
  if (resources.cpu.milli > 0 && most_cpu < resources.cpu) return false;
  const GpuRequest& gpu = resources.gpu;
  switch (gpu.form) {
    case GpuForm::kNone: return true;
    case GpuForm::kDevices: return whole >= gpu.count;
    case GpuForm::kShare: return most_free >= gpu.share;
    case GpuForm::kMemory: return most_free.milli > 0;
  }
  MOULIN_UNREACHABLE();
}

const DeviceRoom* NodeRoom::device(int32_t slot) const {
  auto index = static_cast<size_t>(slot);
  return index < devices.size() ? &devices[index] : nullptr;
}

int64_t FreeShape::free_milli() const {
  int64_t total = 0;
  for (const OfferCount& entry : offers) total += entry.offer.free.milli * entry.count;
  return total;
}

Offer offer_of(const DeviceRoom& device) {
  return {.foreign = device.foreign,
          .free = device.free,
          .free_memory = device.foreign ? device.free_memory : Bytes{},
          .usable = device.usable,
          .model = device.model,
          .isolation = device.isolation};
}

bool has_offer(const DeviceRoom& device) {
  return device.offered && device.free >= kShareMin && device.free_memory.count > 0;
}

FreeShape shape_of(const NodeRoom& node) {
  FreeShape shape{.pool = node.pool, .offers = {}};
  for (const DeviceRoom& device : node.devices) {
    if (!has_offer(device)) continue;
    OfferCount entry{offer_of(device), 1};
    auto at = std::ranges::lower_bound(shape.offers, entry.offer, {}, &OfferCount::offer);
    if (at != shape.offers.end() && at->offer == entry.offer)
      ++at->count;
    else
      shape.offers.insert(at, std::move(entry));
  }
  return shape;
}

void Room::set_node(const Node& node) {
  if (const NodeRoom* known = this->node(node.name)) leave_group(node.name, *known);
  NodeRoom room = room_of(node);
  join_group(node.name, room);
  nodes_.set(node.name, Cow<NodeRoom>(std::move(room)));
}

void Room::erase_node(const NodeName& name) {
  const NodeRoom* known = node(name);
  if (known == nullptr) return;
  leave_group(name, *known);
  nodes_.erase(name);
}

const NodeRoom* Room::node(const NodeName& name) const {
  const Cow<NodeRoom>* found = nodes_.find(name);
  return found ? &**found : nullptr;
}

Amount Room::amount(const TreeName& at, const QuotaKey& key) const {
  const Cow<Amounts>* found = amounts_.find(at);
  return found ? (*found)->of(key) : Amount{};
}

bool Room::is_free(const Placement& placement) const {
  const NodeRoom* node = this->node(placement.node);
  if (node == nullptr || !node->open) return false;
  if (placement.cpu.milli > 0 && node->free_cpu < placement.cpu) return false;
  if (placement.memory.count > 0 && node->free_memory < placement.memory) return false;
  return std::ranges::all_of(placement.grants, [&](const Grant& grant) {
    const DeviceRoom* device = node->device(grant.slot);
    if (device == nullptr || !device->offered) return false;
    if (grant.share == kWholeDevice && device->foreign) return false;
    return grant.share <= device->free && grant.memory <= device->free_memory;
  });
}

bool Room::is_overcommitted(const Placement& placement) const {
  const NodeRoom* node = this->node(placement.node);
  if (node == nullptr) return false;
  if (placement.cpu.milli > 0 && node->free_cpu.milli < 0) return true;
  if (placement.memory.count > 0 && node->free_memory.count < 0) return true;
  return std::ranges::any_of(placement.grants, [&](const Grant& grant) {
    const DeviceRoom* device = node->device(grant.slot);
    return device != nullptr && (device->free.milli < 0 || device->free_memory.count < 0);
  });
}

void Room::change(Amounts::Sign sign, const Account& account, const Placement& placement) {
  Cow<NodeRoom>* found = nodes_.find_mutable(placement.node);
  if (found == nullptr) return;
  NodeRoom& node = found->mutate();
  leave_group(placement.node, node);
  sign == Amounts::Sign::kAdd ? take(node, placement) : give_back(node, placement);
  join_group(placement.node, node);
  change_amounts(sign, account, holdings_of(node, placement));
}

void Room::change_amounts(Amounts::Sign sign, const Account& account, const std::vector<Holding>& holdings) {
  if (holdings.empty()) return;
  for (const TreeNode* at : account.path) {
    Cow<Amounts>* amounts = amounts_.find_mutable(at->name);
    if (amounts == nullptr) amounts = &amounts_.set(at->name, {});
    Amounts& changed = amounts->mutate();
    for (const Holding& holding : holdings) changed.change(sign, holding, account.hold, account.priority_class);
    if (changed.empty()) amounts_.erase(at->name);
  }
}

void Room::leave_group(const NodeName& name, const NodeRoom& node) {
  if (!node.open) return;
  FreeShape shape = shape_of(node);
  ShapeNodes& nodes = groups_.at_mutable(shape);
  Group& group = nodes.group.mutate();
  MOULIN_CHECK(group.erase({node.free_cpu, name}), "a node outside its group");
  if (group.empty())
    groups_.erase(shape);
  else
    nodes.most_cpu = (--group.end())->first.free_cpu;
}

void Room::join_group(const NodeName& name, const NodeRoom& node) {
  if (!node.open) return;
  FreeShape shape = shape_of(node);
  ShapeNodes* nodes = groups_.find_mutable(shape);
  if (nodes == nullptr) nodes = &groups_.set(shape, empty_group(shape));
  Group& group = nodes->group.mutate();
  group.set({node.free_cpu, name}, node.free_memory);
  nodes->most_cpu = (--group.end())->first.free_cpu;
}

}  // namespace moulin
