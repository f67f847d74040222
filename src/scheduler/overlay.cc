#include "scheduler/overlay.h"

namespace moulin {

void Overlay::change(Amounts::Sign sign, const Account& account, const Placement& placement) {
  room_.change(sign, account, placement);
  changes_.push_back({sign, account, placement});
}

void Overlay::rollback(Mark mark) {
  MOULIN_CHECK(mark <= changes_.size(), "a mark of the future");
  while (changes_.size() > mark) {
    const Change& last = changes_.back();
    auto opposite = last.sign == Amounts::Sign::kAdd ? Amounts::Sign::kSubtract : Amounts::Sign::kAdd;
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
