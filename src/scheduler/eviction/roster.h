// Who has left in a what-if for one applicant.
#pragma once

#include <vector>

#include "scheduler/applicant.h"
#include "scheduler/eviction/guarantee_reclaim.h"
#include "scheduler/eviction/stock.h"

namespace moulin {

class Roster {
 public:
  // All must outlive it.
  Roster(Overlay& overlay, const Applicant& applicant, UnitStock& stock)
      : overlay_(overlay), applicant_(applicant), stock_(stock), rights_(overlay, applicant) {}

  // Whether the applicant may take it, and it has not left: leaving already, or a victim by
  // some cause, given who left before.
  bool may_leave(UnitIndex index) const;

  // Takes the unit out of the overlay. False, and nothing happens: it may not leave. A
  // whole attempt takes over its surplus replicas.
  bool leave(UnitIndex index);
  // Puts it back. Requires that it left.
  void stay(UnitIndex index);
  // Takes out again what stay() put back; nobody is asked, because it was right before.
  void leave_again(UnitIndex index);
  void all_stay();

  // What the applicant may take back, as it was when the roster was made.
  const ReclaimRights& rights() const { return rights_; }

  // Those that left, in the order in which they did.
  const std::vector<UnitIndex>& left() const { return left_; }
  // The replicas that left with it; empty unless it left.
  const std::vector<const Replica*>& freed(UnitIndex index) const;
  bool has_left(const Unit& unit, const Replica& replica) const {
    return gone_.contains({unit.workload->id, replica.index});
  }
  const Unit& unit(UnitIndex index) const { return stock_.unit(index); }

  // The cause by which the unit of a victim left.
  Cause cause(UnitIndex index) const;

  // Leaves them, for the rest of the overlay's life, as leaving: they hold until they end.
  void settle();

  // Those that left and were not leaving before.
  Departures evicted() const;

 private:
  Judgement judge(UnitIndex index, const Departures& gone) const;
  void absorb_surplus(const Unit& whole, std::vector<const Replica*>& into);
  Account account(const Unit& unit, Hold hold) const;

  Overlay& overlay_;
  const Applicant& applicant_;
  UnitStock& stock_;
  const ReclaimRights rights_;
  std::map<UnitIndex, std::vector<const Replica*>> freed_;
  std::vector<UnitIndex> left_;
  Departures gone_;
};

}  // namespace moulin
