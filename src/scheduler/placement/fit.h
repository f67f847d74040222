// Whether and how well one replica fits on a free shape: pure arithmetic on what a node
// offers, without looking at any node.
//
// Best fit, smallest first, in this order:
//   1. no device that foreign processes use
//   2. least left over on the devices it takes
//   3. least GPU left over on the node
//   4. fewest whole free devices broken
// and between nodes of equal score: least free CPU, then node name.
#pragma once

#include <compare>
#include <optional>

#include "scheduler/room.h"

namespace moulin {

// In thousandths of a device, or a count.
struct FitScore {
  int64_t foreign = 0;
  int64_t device_left = 0;
  int64_t node_left = 0;
  int64_t whole_lost = 0;
  auto operator<=>(const FitScore&) const = default;
};

struct Fit {
  FitScore score{};
  Share total{};  // that the replica takes there
};

// What a replica takes of one device.
struct DeviceNeed {
  Share share{};
  Bytes memory{};
};

// Absent when it could never run on such a device, even a free one: too little memory, or
// an advisory part where isolation is required.
std::optional<DeviceNeed> need_on(const Resources& resources, const Offer& offer);

// Whether the offer, as it is, holds the need.
bool holds(const Offer& offer, const DeviceNeed& need);

// How often the offer holds it.
int64_t times_on(const Offer& offer, const DeviceNeed& need);

// All devices of a replica are of one model. `model` is ignored without GPUs.
std::optional<Fit> fit(const Resources& resources, const FreeShape& shape, const ModelName& model);

// Models among the offers, each once, in order of name.
std::vector<ModelName> models_of(const FreeShape& shape);

// How many such replicas the shape holds at once, as far as its devices go; exact.
// kManyReplicas without GPUs.
inline constexpr int64_t kManyReplicas = kReplicasMax + 1;
int64_t most_replicas(const Resources& resources, const FreeShape& shape);

// How many `amount` holds of `each`; kManyReplicas when nothing is asked.
struct Portion {
  int64_t amount = 0;
  int64_t each = 0;
};
int64_t times(Portion portion);

}  // namespace moulin
