#include "scheduler/overlay.h"

namespace moulin {

void Overlay::change(Amounts::Sign sign, const Account& account, const Placement& placement) {
  room_.change(sign, account, placement);
  changes_.push_back({sign, account, placement});
}

const Claim* Overlay::claim_of(WorkloadId owner) const {
  const Cow<Claim>* found = owner ? view_.state.claims.find(owner) : nullptr;
  return found == nullptr || released_.contains(owner) ? nullptr : &**found;
}

void Overlay::release_claim(WorkloadId owner) {
  const Claim* claim = claim_of(owner);
  if (claim == nullptr) return;
  const WorkloadSpec& spec = view_.state.workload(owner)->spec;
  Account account{path(spec.project), spec.priority_class, Hold::kClaimed};
  for (const ReplicaPlacement& place : claim->places) remove(account, place.placement);
  released_.insert(owner);
  changes_.push_back({Amounts::Sign::kSubtract, account, {}, owner});
}

void Overlay::rollback(Mark mark) {
  MOULIN_CHECK(mark <= changes_.size(), "a mark of the future");
  while (changes_.size() > mark) {
    const Change& last = changes_.back();
    auto opposite = last.sign == Amounts::Sign::kAdd ? Amounts::Sign::kSubtract : Amounts::Sign::kAdd;
    if (last.released)
      released_.erase(last.released);
    else
      room_.change(opposite, last.account, last.placement);
    changes_.pop_back();
  }
}

const TreePath& Overlay::path(const TreeName& project) {
  TreePath& path = paths_[project];
  if (path.empty()) path = path_to_root(view_.state, project);
  return path;
}

}  // namespace moulin
