#include "scheduler/placement/place.h"

#include <tuple>

#include "scheduler/limits.h"
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
    if (!may_use_pool(applicant.spec, shape.pool)) continue;
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

}  // namespace

std::optional<Placement> find_place(Overlay& overlay, const Applicant& applicant, Hold hold) {
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
  return placement_on(overlay, resources, best->seat.node, best->model);
}

Placement placement_on(const Overlay& overlay, const Resources& resources, const NodeName& name,
                       const ModelName& model) {
  Placement placement{.node = name, .grants = {}, .cpu = resources.cpu, .memory = resources.memory};
  if (resources.gpu.form == GpuForm::kNone) return placement;
  struct Choice {
    Offer offer;
    int32_t slot;
    DeviceNeed need;
  };
  std::vector<Choice> choices;
  for (const DeviceRoom& device : overlay.room().node(name)->devices) {
    if (!has_offer(device) || device.model != model) continue;
    Offer offer = offer_of(device);
    std::optional<DeviceNeed> need = need_on(resources, offer);
    if (need && holds(offer, *need)) choices.push_back({std::move(offer), device.slot, *need});
  }
  auto count = static_cast<size_t>(resources.gpu.count);
  MOULIN_CHECK(count <= choices.size(), "the shape of a node promises more than its devices");
  std::ranges::stable_sort(choices, {}, &Choice::offer);
  choices.resize(count);
  std::ranges::sort(choices, {}, &Choice::slot);
  const Node& node = *overlay.state().node(name);
  for (const Choice& choice : choices) {
    placement.grants.push_back({.gpu = node.gpus[static_cast<size_t>(choice.slot)].uuid,
                                .slot = choice.slot,
                                .share = choice.need.share,
                                .memory = choice.need.memory,
                                .isolation = choice.offer.isolation});
  }
  return placement;
}

std::optional<std::vector<ReplicaPlacement>> place_gang(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                        ReplicaSpan span) {
  if (!might_fit(overlay.room(), applicant.spec, span.count)) return std::nullopt;
  Overlay::Mark mark = overlay.checkpoint();
  std::vector<ReplicaPlacement> placed;
  placed.reserve(static_cast<size_t>(span.count));
  for (int64_t i = 0; i < span.count; ++i) {
    std::optional<Placement> place = find_place(overlay, applicant, hold);
    if (!place) {
      overlay.rollback(mark);
      return std::nullopt;
    }
    overlay.place(applicant.account(hold), *place);
    placed.push_back({{static_cast<int32_t>(span.first + i)}, *std::move(place)});
  }
  return placed;
}

bool might_fit(const Room& room, const WorkloadSpec& spec, int64_t replicas) {
  return most_in_groups(room, spec, replicas) >= replicas;
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
