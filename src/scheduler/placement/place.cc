#include "scheduler/placement/place.h"

#include <tuple>

#include "scheduler/limits.h"
#include "scheduler/placement/count.h"
#include "scheduler/placement/exact.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

// A place that beats those seen before.
struct Candidate {
  FitScore score{};
  Seat seat{};
  ModelName model{};
  bool beats(const Candidate& other) const { return std::tie(score, seat) < std::tie(other.score, other.seat); }
};

// Limits are asked once for each pool and model of a search.
class HeadroomCache {
 public:
  HeadroomCache(const Overlay& overlay, const Applicant& applicant, Hold hold)
      : overlay_(overlay), applicant_(applicant), hold_(hold) {}
  const Headroom& of(const PoolName& pool, const ModelName& model) {
    for (const Entry& entry : entries_) {
      if (entry.pool == pool && entry.model == model) return entry.headroom;
    }
    entries_.push_back({pool, model, headroom(overlay_, applicant_, hold_, pool, model)});
    return entries_.back().headroom;
  }

 private:
  struct Entry {
    PoolName pool;
    ModelName model;
    Headroom headroom;
  };
  const Overlay& overlay_;
  const Applicant& applicant_;
  Hold hold_;
  std::vector<Entry> entries_;
};

// The first node of the group with enough CPU and memory.
std::optional<Seat> find_seat(Overlay& overlay, const Group& group, const Resources& resources) {
  bool any_cpu = resources.cpu.milli == 0;
  auto at = any_cpu ? group.begin() : group.lower_bound({resources.cpu, {}});
  for (; at != group.end(); ++at) {
    overlay.touch(1);
    if (resources.memory.count == 0 || at->second >= resources.memory) return at->first;
  }
  return std::nullopt;
}

// The best place on devices of the models for which `wanted` is true.
template <class Wanted>
std::optional<Candidate> best_among(Overlay& overlay, const Applicant& applicant, HeadroomCache& limits,
                                    Wanted wanted) {
  std::optional<Candidate> best;
  const Resources& resources = applicant.spec.resources;
  auto consider = [&](const FreeShape& shape, const Group& group, const ModelName& model) {
    std::optional<Fit> fitting = fit(resources, shape, model);
    if (!fitting || (best && best->score < fitting->score)) return;
    if (!limits.of(shape.pool, model).holds(fitting->total, resources)) return;
    std::optional<Seat> seat = find_seat(overlay, group, resources);
    if (!seat) return;
    Candidate candidate{fitting->score, *seat, model};
    if (!best || candidate.beats(*best)) best = candidate;
  };
  for (const auto& [shape, group] : overlay.room().groups()) {
    overlay.touch(1);
    if (!group.may_hold(resources) || !may_use_pool(applicant.spec, shape.pool)) continue;
    if (resources.gpu.form == GpuForm::kNone) {
      consider(shape, *group, {});
      continue;
    }
    const ModelName* last = nullptr;
    for (const OfferCount& entry : shape.offers) {
      bool again = last != nullptr && *last == entry.offer.model;
      last = &entry.offer.model;
      if (!again && wanted(*last)) consider(shape, *group, *last);
    }
  }
  return best;
}

// A device that can take its part of a replica.
struct Part {
  Offer offer{};
  int32_t slot = 0;
  DeviceNeed need{};
  int64_t times = 0;  // how often the part fits
};

std::vector<Part> parts_on(const NodeRoom& node, const Resources& resources, const ModelName& model) {
  std::vector<Part> parts;
  for (const DeviceRoom& device : node.devices) {
    if (!has_offer(device) || device.model != model) continue;
    Offer offer = offer_of(device);
    std::optional<DeviceNeed> need = need_on(resources, offer);
    if (need && holds(offer, *need)) parts.push_back({offer, device.slot, *need, times_on(offer, *need)});
  }
  return parts;
}

// One after the other, each where it fits best.
bool place_greedily(Overlay& overlay, const Applicant& applicant, Hold hold, ReplicaSpan span, DeviceChoice choice,
                    std::vector<ReplicaPlacement>& placed) {
  Overlay::Mark mark = overlay.checkpoint();
  placed.clear();
  placed.reserve(static_cast<size_t>(span.count));
  while (std::ssize(placed) < span.count) {
    std::optional<Placement> place = find_place(overlay, applicant, hold, choice);
    if (!place) {
      overlay.rollback(mark);
      return false;
    }
    overlay.place(applicant.account(hold), *place);
    placed.push_back({{static_cast<int32_t>(span.first + std::ssize(placed))}, *std::move(place)});
  }
  return true;
}

}  // namespace

std::optional<Placement> find_place(Overlay& overlay, const Applicant& applicant, Hold hold, DeviceChoice choice) {
  HeadroomCache limits(overlay, applicant, hold);
  const Resources& resources = applicant.spec.resources;
  std::optional<Candidate> best;
  if (resources.gpu_models.empty()) {
    best = best_among(overlay, applicant, limits, [](const ModelName&) { return true; });
  }
  for (const ModelName& preferred : resources.gpu_models) {
    if (best) break;
    best = best_among(overlay, applicant, limits, [&](const ModelName& model) { return model == preferred; });
  }
  if (!best) return std::nullopt;
  return placement_on(overlay, resources, best->seat.node, best->model, choice);
}

Placement placement_on(const Overlay& overlay, const Resources& resources, const NodeName& name, const ModelName& model,
                       DeviceChoice choice) {
  Placement placement{.node = name, .grants = {}, .cpu = resources.cpu, .memory = resources.memory};
  if (resources.gpu.form == GpuForm::kNone) return placement;
  std::vector<Part> parts = parts_on(*overlay.room().node(name), resources, model);
  auto count = static_cast<size_t>(resources.gpu.count);
  MOULIN_CHECK(count <= parts.size(), "the shape of a node promises more than its devices");
  bool most_room = choice == DeviceChoice::kMostRoom;
  std::ranges::sort(parts, [most_room](const Part& a, const Part& b) {
    if (most_room && a.times != b.times) return a.times > b.times;
    return std::tie(a.offer, a.slot) < std::tie(b.offer, b.slot);
  });
  parts.resize(count);
  std::ranges::sort(parts, {}, &Part::slot);
  const Node& node = *overlay.state().node(name);
  for (const Part& part : parts) {
    placement.grants.push_back({.gpu = node.gpus[static_cast<size_t>(part.slot)].uuid,
                                .slot = part.slot,
                                .share = part.need.share,
                                .memory = part.need.memory,
                                .isolation = part.offer.isolation});
  }
  return placement;
}

std::optional<std::vector<ReplicaPlacement>> place_gang(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                        ReplicaSpan span) {
  // Counting is quicker than placing: a gang that hardware can not hold is not tried.
  bool gang = span.count > 1;
  if (gang && replicas_that_fit(overlay.room(), applicant.spec, span.count) < span.count) return std::nullopt;
  std::vector<ReplicaPlacement> placed;
  if (place_greedily(overlay, applicant, hold, span, DeviceChoice::kBestFit, placed)) return placed;
  if (!gang) return std::nullopt;
  bool parts_of_several = applicant.spec.resources.gpu.count > 1 && applicant.spec.resources.gpu.share < kWholeDevice;
  if (parts_of_several && place_greedily(overlay, applicant, hold, span, DeviceChoice::kMostRoom, placed))
    return placed;
  return place_exactly(overlay, applicant, hold, span);
}

}  // namespace moulin
