// The most there is: figures for sentences about hardware.
#pragma once

#include "scheduler/explain/inquiry.h"

namespace moulin {

struct Most {
  int64_t amount = 0;
  NodeName node{};  // the first by name of those with this amount and least CPU
};

// On open nodes of the pools and on devices of the models that the applicant may use.
struct FreeRoom {
  int64_t gpu_milli = 0;  // in all
  Most gpu_on_node{};     // thousandths; whole free devices only, when whole ones are asked for
  Most gpu_on_device{};
  Most memory_on_device{};  // bytes
  Most cpu{};               // on one node, whatever GPUs it has
  Most memory{};
  Most cpu_beside{};  // on one node with devices for a replica
  Most memory_beside{};
};

// Looks at all nodes.
FreeRoom free_room(const Inquiry& inquiry);

// FreeRoom::gpu_milli alone, from the shapes.
int64_t free_gpu_milli(const Inquiry& inquiry);

}  // namespace moulin
