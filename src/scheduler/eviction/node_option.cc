#include "scheduler/eviction/node_option.h"

#include <algorithm>

#include "scheduler/placement/count.h"

namespace moulin {

namespace {

// A copy of the node from which units leave.
class Trial {
 public:
  Trial(const Roster& roster, const NodeRoom& node, const Resources& resources, const NodeName& name)
      : roster_(roster), node_(node), resources_(resources), name_(name) {}

  void leave(UnitIndex index) {
    Taken taken{.index = index};
    const Unit& unit = roster_.unit(index);
    for (const Replica* replica : unit.replicas) {
      bool here = replica->placement.node == name_ && !roster_.has_left(unit, *replica);
      if (here && std::ranges::find(gone_, replica) == gone_.end()) taken.freed.push_back(replica);
    }
    if (taken.freed.empty()) return;
    for (const Replica* replica : taken.freed) give_back(node_, replica->placement);
    gone_.insert(gone_.end(), taken.freed.begin(), taken.freed.end());
    taken_.push_back(std::move(taken));
  }

  int64_t replicas() const { return replicas_on(node_, resources_); }

  void put_back_superfluous() {
    for (size_t i = taken_.size(); i-- > 0;) {
      for (const Replica* replica : taken_[i].freed) take(node_, replica->placement);
      if (replicas() > 0) {
        taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      for (const Replica* replica : taken_[i].freed) give_back(node_, replica->placement);
    }
  }

  NodeOption option() const {
    NodeOption option;
    for (const Taken& taken : taken_) {
      option.cost += roster_.unit(taken.index).cost;
      option.units.push_back(taken.index);
    }
    return option;
  }

 private:
  struct Taken {
    UnitIndex index{};
    std::vector<const Replica*> freed{};
  };

  const Roster& roster_;
  NodeRoom node_;
  const Resources& resources_;
  const NodeName& name_;
  std::vector<Taken> taken_;
  std::vector<const Replica*> gone_;
};

}  // namespace

int64_t replicas_without(const Roster& roster, const NodeRoom& node, const Resources& resources,
                         const std::vector<UnitIndex>& units, const NodeName& name) {
  Trial trial(roster, node, resources, name);
  for (UnitIndex index : units) trial.leave(index);
  return trial.replicas();
}

std::optional<NodeOption> cheapest_option(const Roster& roster, const NodeRoom& node, const Resources& resources,
                                          const std::vector<UnitIndex>& units, const NodeName& name) {
  if (replicas_without(roster, node, resources, units, name) == 0) return std::nullopt;
  Trial trial(roster, node, resources, name);
  for (UnitIndex index : units) {
    if (trial.replicas() > 0) break;
    trial.leave(index);
  }
  trial.put_back_superfluous();
  return trial.option();
}

}  // namespace moulin
