#include "scheduler/placement/exact.h"

#include <set>

#include "scheduler/limits.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

struct Spot {
  NodeName node{};
  ModelName model{};
};

// Depth first over the spots in order: the next replica goes to the same spot or a later
// one, because replicas are alike.
class Packing {
 public:
  Packing(Overlay& overlay, const Applicant& applicant, Hold hold, ReplicaSpan span)
      : overlay_(overlay), applicant_(applicant), hold_(hold), span_(span) {}

  bool find_spots() {
    const Resources& resources = applicant_.spec.resources;
    std::set<NodeName> nodes;
    for (const auto& [shape, group] : overlay_.room().groups()) {
      if (!may_use_pool(applicant_.spec, shape.pool)) continue;
      for (const auto& [seat, memory] : *group) nodes.insert(seat.node);
      if (nodes.size() > kExactNodesMax) return false;
    }
    for (const NodeName& name : nodes) {
      if (resources.gpu.form == GpuForm::kNone) spots_.push_back({name, {}});
      for (const ModelName& model : models_of(shape_of(*overlay_.room().node(name)))) {
        bool wanted = resources.gpu.form != GpuForm::kNone && may_use_model(resources, model);
        if (wanted) spots_.push_back({name, model});
      }
    }
    return true;
  }

  bool search(size_t first) {
    if (std::ssize(placed_) == span_.count) return true;
    for (size_t i = first; i < spots_.size(); ++i) {
      if (++steps_ > kExactStepsMax) return false;
      if (!holds_one(spots_[i])) continue;
      Overlay::Mark mark = overlay_.checkpoint();
      Placement place =
          placement_on(overlay_, applicant_.spec.resources, spots_[i].node, spots_[i].model, DeviceChoice::kMostRoom);
      overlay_.place(applicant_.account(hold_), place);
      placed_.push_back({{static_cast<int32_t>(span_.first + std::ssize(placed_))}, std::move(place)});
      if (search(i)) return true;
      placed_.pop_back();
      overlay_.rollback(mark);
    }
    return false;
  }

  std::vector<ReplicaPlacement> placed() { return std::move(placed_); }

 private:
  bool holds_one(const Spot& spot) const {
    const NodeRoom& node = *overlay_.room().node(spot.node);
    const Resources& resources = applicant_.spec.resources;
    if (resources.cpu.milli > 0 && node.free_cpu < resources.cpu) return false;
    if (resources.memory.count > 0 && node.free_memory < resources.memory) return false;
    std::optional<Fit> fitting = fit(resources, shape_of(node), spot.model);
    return fitting && headroom(overlay_, applicant_, hold_, node.pool, spot.model).holds(fitting->total, resources);
  }

  Overlay& overlay_;
  const Applicant& applicant_;
  Hold hold_;
  ReplicaSpan span_;
  std::vector<Spot> spots_;
  std::vector<ReplicaPlacement> placed_;
  int64_t steps_ = 0;
};

}  // namespace

std::optional<std::vector<ReplicaPlacement>> place_exactly(Overlay& overlay, const Applicant& applicant, Hold hold,
                                                           ReplicaSpan span) {
  if (span.count > kExactReplicasMax) return std::nullopt;
  Packing packing(overlay, applicant, hold, span);
  if (!packing.find_spots() || !packing.search(0)) return std::nullopt;
  return packing.placed();
}

}  // namespace moulin
