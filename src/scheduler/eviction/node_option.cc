#include "scheduler/eviction/node_option.h"

#include <algorithm>

#include "base/wide.h"
#include "scheduler/placement/count.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

// A copy of the node from which units leave.
class Trial {
 public:
  Trial(const Roster& roster, const Resources& resources, const NodeStock& node, const NodeRoom& room)
      : roster_(roster), node_(room), resources_(resources), name_(node.name) {}

  void leave(UnitIndex index) {
    if (!roster_.may_leave(index)) return;
    Left left{.index = index};
    const Unit& unit = roster_.unit(index);
    for (const Replica* replica : unit.replicas) {
      bool here = replica->placement.node == name_ && !roster_.has_left(unit, *replica);
      if (here && std::ranges::find(gone_, replica) == gone_.end()) left.freed.push_back(replica);
    }
    if (left.freed.empty()) return;
    for (const Replica* replica : left.freed) give_back(node_, replica->placement);
    gone_.insert(gone_.end(), left.freed.begin(), left.freed.end());
    left_.push_back(std::move(left));
  }

  int64_t replicas() const { return replicas_on(node_, resources_); }

  void put_back_superfluous() {
    for (size_t i = left_.size(); i-- > 0;) {
      for (const Replica* replica : left_[i].freed) take(node_, replica->placement);
      if (replicas() > 0) {
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      for (const Replica* replica : left_[i].freed) give_back(node_, replica->placement);
    }
  }

  NodeOption option() const {
    NodeOption option;
    for (const Left& left : left_) {
      option.cost += roster_.unit(left.index).cost;
      option.units.push_back(left.index);
    }
    return option;
  }

 private:
  struct Left {
    UnitIndex index{};
    std::vector<const Replica*> freed{};
  };

  const Roster& roster_;
  NodeRoom node_;
  const Resources& resources_;
  const NodeName& name_;
  std::vector<Left> left_;
  std::vector<const Replica*> gone_;
};

// GPU that must come free on the node, at least, for one replica.
int64_t missing_milli(const Resources& resources, const NodeRoom& node) {
  int64_t needed = resources.gpu.share.milli * resources.gpu.count;
  if (resources.gpu.form == GpuForm::kMemory) needed = kShareMin.milli;
  for (const DeviceRoom& device : node.devices) {
    if (device.offered && device.free.milli > 0) needed -= device.free.milli;
  }
  return std::max<int64_t>(needed, 0);
}

}  // namespace

int64_t replicas_without(const Roster& roster, const Resources& resources, const NodeStock& node,
                         const NodeRoom& room) {
  Trial trial(roster, resources, node, room);
  for (UnitIndex index : node.units) trial.leave(index);
  return trial.replicas();
}

std::optional<NodeOption> cheapest_option(const Roster& roster, const Resources& resources, const NodeStock& node,
                                          const NodeRoom& room) {
  Trial trial(roster, resources, node, room);
  for (UnitIndex index : node.units) {
    if (trial.replicas() > 0) break;
    trial.leave(index);
  }
  if (trial.replicas() == 0) return std::nullopt;
  trial.put_back_superfluous();
  return trial.option();
}

EvictionCost cost_bound(const UnitStock& stock, const Resources& resources, const NodeStock& node,
                        const NodeRoom& room) {
  int64_t missing = missing_milli(resources, room);
  EvictionCost bound{.whole_lost = INT64_MAX, .wholes = INT64_MAX, .count = INT64_MAX, .oldest = INT64_MAX};
  for (UnitIndex index : node.units) {
    const Unit& unit = stock.unit(index);
    bound.oldest = std::min(bound.oldest, unit.cost.oldest);
    if (unit.kind != UnitKind::kWhole || unit.gpu.milli == 0 || missing == 0)
      return {.whole_lost = 0, .wholes = 0, .surplus_lost = 0, .count = 0, .oldest = INT64_MIN};
    // Were all units like this one: no set frees as much for less than the best of them.
    auto lost = static_cast<int64_t>(Wide{unit.cost.whole_lost} * missing / unit.gpu.milli);
    bound.whole_lost = std::min(bound.whole_lost, lost);
    int64_t units = (missing + unit.gpu.milli - 1) / unit.gpu.milli;
    bound.wholes = std::min(bound.wholes, units);
    bound.count = std::min(bound.count, units);
  }
  return bound;
}

}  // namespace moulin
