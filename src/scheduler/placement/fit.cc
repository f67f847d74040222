#include "scheduler/placement/fit.h"

#include <algorithm>

#include "scheduler/applicant.h"

namespace moulin {

namespace {

// A quick no, before anything is computed.
bool is_too_small(const Resources& resources, const Offer& offer) {
  return resources.gpu.form != GpuForm::kMemory && offer.free < resources.gpu.share;
}

// Replicas that take one part each of `count` different devices: the most, when device d
// has room for parts[d].
int64_t spread_over(const std::vector<int64_t>& parts, int64_t count) {
  int64_t low = 0;
  int64_t high = 0;
  for (int64_t room : parts) high += room;
  high /= count;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    int64_t usable = 0;
    for (int64_t room : parts) usable += std::min(room, middle);
    if (usable >= middle * count)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// How often each device of the model has room for its part of a replica, device by device.
template <class Use>
void for_each_part(const Resources& resources, const FreeShape& shape, const ModelName& model, Use use) {
  for (const OfferCount& entry : shape.offers) {
    if (is_too_small(resources, entry.offer) || entry.offer.model != model) continue;
    std::optional<DeviceNeed> need = need_on(resources, entry.offer);
    if (need && holds(entry.offer, *need)) use(times_on(entry.offer, *need), entry.count);
  }
}

int64_t most_on_model(const Resources& resources, const FreeShape& shape, const ModelName& model) {
  if (resources.gpu.count == 1 || resources.gpu.form == GpuForm::kDevices) {
    int64_t parts = 0;
    for_each_part(resources, shape, model, [&](int64_t times, int64_t devices) { parts += times * devices; });
    return parts / resources.gpu.count;
  }
  std::vector<int64_t> parts;
  for_each_part(resources, shape, model, [&](int64_t times, int64_t devices) {
    parts.insert(parts.end(), static_cast<size_t>(devices), times);
  });
  return spread_over(parts, resources.gpu.count);
}

}  // namespace

std::optional<DeviceNeed> need_on(const Resources& resources, const Offer& offer) {
  if (offer.usable.count <= 0) return std::nullopt;
  DeviceNeed need;
  switch (resources.gpu.form) {
    case GpuForm::kNone: return std::nullopt;
    case GpuForm::kDevices: need = {kWholeDevice, offer.usable}; break;
    case GpuForm::kShare: need = {resources.gpu.share, memory_of_share(resources.gpu.share, offer.usable)}; break;
    case GpuForm::kMemory: need = {share_of_memory(resources.gpu.memory, offer.usable), resources.gpu.memory}; break;
  }
  if (need.share > kWholeDevice) return std::nullopt;
  bool part = need.share < kWholeDevice;
  if (part && resources.isolation == IsolationWish::kRequired && offer.isolation == Isolation::kAdvisory)
    return std::nullopt;
  return need;
}

bool holds(const Offer& offer, const DeviceNeed& need) {
  if (need.share == kWholeDevice) return offer.whole();
  return need.share <= offer.free && (!offer.foreign || need.memory <= offer.free_memory);
}

int64_t times_on(const Offer& offer, const DeviceNeed& need) {
  int64_t by_share = times({offer.free.milli, need.share.milli});
  return offer.foreign ? std::min(by_share, times({offer.free_memory.count, need.memory.count})) : by_share;
}

std::optional<Fit> fit(const Resources& resources, const FreeShape& shape, const ModelName& model) {
  Fit result;
  if (resources.gpu.form == GpuForm::kNone) {
    result.score.node_left = shape.free_milli();
    return result;
  }
  int64_t missing = resources.gpu.count;
  for (const OfferCount& entry : shape.offers) {
    const Offer& offer = entry.offer;
    if (is_too_small(resources, offer) || offer.model != model) continue;
    std::optional<DeviceNeed> need = need_on(resources, offer);
    if (!need || !holds(offer, *need)) continue;
    int64_t taken = std::min(missing, entry.count);
    result.total += need->share * taken;
    result.score.foreign += offer.foreign ? taken : 0;
    result.score.device_left += (offer.free - need->share).milli * taken;
    result.score.whole_lost += offer.whole() ? taken : 0;
    missing -= taken;
    if (missing == 0) break;
  }
  if (missing > 0) return std::nullopt;
  result.score.node_left = shape.free_milli() - result.total.milli;
  return result;
}

std::vector<ModelName> models_of(const FreeShape& shape) {
  std::vector<ModelName> models;
  for (const OfferCount& entry : shape.offers) models.push_back(entry.offer.model);
  std::ranges::sort(models);
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

int64_t times(Portion portion) {
  if (portion.each <= 0) return kManyReplicas;
  return portion.amount <= 0 ? 0 : portion.amount / portion.each;
}

int64_t most_replicas(const Resources& resources, const FreeShape& shape) {
  if (resources.gpu.form == GpuForm::kNone) return kManyReplicas;
  if (shape.offers.empty()) return 0;
  const ModelName& first = shape.offers.front().offer.model;
  auto alike = [&](const OfferCount& entry) { return entry.offer.model == first; };
  if (std::ranges::all_of(shape.offers, alike))
    return may_use_model(resources, first) ? most_on_model(resources, shape, first) : 0;
  int64_t most = 0;
  for (const ModelName& model : models_of(shape)) {
    if (may_use_model(resources, model)) most += most_on_model(resources, shape, model);
  }
  return most;
}

}  // namespace moulin
