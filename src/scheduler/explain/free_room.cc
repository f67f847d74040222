#include "scheduler/explain/free_room.h"

#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

void raise(Most& most, int64_t amount, const NodeName& node) {
  if (amount > most.amount || most.node.empty()) most = {amount, node};
}

// What the device has free for a share together with its memory.
Bytes free_memory(const Offer& offer) {
  Bytes of_share = memory_of_share(offer.free, offer.usable);
  return offer.foreign ? std::min(of_share, offer.free_memory) : of_share;
}

void add_devices(FreeRoom& room, const Inquiry& inquiry, const FreeShape& shape, const NodeName& node) {
  const Resources& resources = inquiry.spec().resources;
  bool whole = resources.gpu.form == GpuForm::kDevices;
  int64_t on_node = 0;
  for (const OfferCount& entry : shape.offers) {
    if (!may_use_model(resources, entry.offer.model)) continue;
    raise(room.gpu_on_device, entry.offer.free.milli, node);
    raise(room.memory_on_device, free_memory(entry.offer).count, node);
    if (!whole || entry.offer.whole()) on_node += entry.offer.free.milli * entry.count;
  }
  raise(room.gpu_on_node, on_node, node);
}

}  // namespace

FreeRoom free_room(const Inquiry& inquiry) {
  FreeRoom room{.gpu_milli = free_gpu_milli(inquiry)};
  const Resources& resources = inquiry.spec().resources;
  for (const auto& [shape, group] : inquiry.overlay.room().groups()) {
    if (!may_use_pool(inquiry.spec(), shape.pool)) continue;
    add_devices(room, inquiry, shape, group->begin()->first.node);
    bool fits = most_replicas(resources, shape) > 0;
    for (const auto& [seat, memory] : *group) {
      raise(room.cpu, seat.free_cpu.milli, seat.node);
      raise(room.memory, memory.count, seat.node);
      if (fits) raise(room.cpu_beside, seat.free_cpu.milli, seat.node);
      if (fits) raise(room.memory_beside, memory.count, seat.node);
    }
  }
  return room;
}

int64_t free_gpu_milli(const Inquiry& inquiry) {
  int64_t total = 0;
  for (const auto& [shape, group] : inquiry.overlay.room().groups()) {
    if (!may_use_pool(inquiry.spec(), shape.pool)) continue;
    for (const OfferCount& entry : shape.offers) {
      if (may_use_model(inquiry.spec().resources, entry.offer.model))
        total += entry.offer.free.milli * entry.count * static_cast<int64_t>(group->size());
    }
  }
  return total;
}

}  // namespace moulin
