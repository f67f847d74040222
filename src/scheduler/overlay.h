// What would be if: the room of an index with changes that nobody else sees.
//
//   Overlay overlay(view);
//   Overlay::Mark mark = overlay.checkpoint();
//   overlay.place(account, placement);
//   overlay.rollback(mark);            // as it was
//
// Making one costs a few pointers; a change and its undoing cost the same as in the index.
// The view and the paths of all accounts must outlive it. For one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/scheduler.h"

namespace moulin {

class Overlay {
 public:
  using Mark = size_t;  // number of changes made before

  explicit Overlay(const View& view) : view_(view), room_(view.index.room()) {}

  void place(const Account& account, const Placement& placement) { change(Amounts::Sign::kAdd, account, placement); }
  void remove(const Account& account, const Placement& placement) {
    change(Amounts::Sign::kSubtract, account, placement);
  }

  // Lets go of the claim that the state holds for this owner; nothing when there is none,
  // or it was let go before.
  void release_claim(WorkloadId owner);
  // The claim of that owner, unless it was let go; nullptr: none.
  const Claim* claim_of(WorkloadId owner) const;

  Mark checkpoint() const { return changes_.size(); }
  // Undoes all changes since then, newest first. Marks taken since then are void.
  void rollback(Mark mark);

  // From a project to the root; lives as long as the overlay, as accounts need it.
  const TreePath& path(const TreeName& project);

  const View& view() const { return view_; }
  const State& state() const { return view_.state; }
  const Index& index() const { return view_.index; }
  Instant now() const { return view_.now; }
  const Room& room() const { return room_; }

  // Free shapes and nodes looked at since it was made: what a pass is bounded by.
  int64_t touched() const { return touched_; }
  void touch(int64_t more) { touched_ += more; }

  // From that instant on somebody is protected no more; the earliest that was told.
  void protected_until(Instant at) { look_again_ = std::min(look_again_.value_or(at), at); }
  std::optional<Instant> look_again() const { return look_again_; }

 private:
  struct Change {
    Amounts::Sign sign;
    Account account;
    Placement placement;
    WorkloadId released{};  // the claim of this owner was let go; no placement
  };
  void change(Amounts::Sign sign, const Account& account, const Placement& placement);

  const View view_;
  Room room_;
  std::vector<Change> changes_;
  std::set<WorkloadId> released_;  // owners of claims that were let go
  std::map<TreeName, TreePath> paths_;
  int64_t touched_ = 0;
  std::optional<Instant> look_again_{};
};

}  // namespace moulin
