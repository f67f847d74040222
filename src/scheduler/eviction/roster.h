// The units that an applicant may evict, and those that it has evicted in a what-if.
#pragma once

#include <map>
#include <vector>

#include "scheduler/applicant.h"
#include "scheduler/eviction/causes.h"

namespace moulin {

// Position of a unit in Roster::units().
struct UnitIndex {
  size_t value = 0;
  auto operator<=>(const UnitIndex&) const = default;
};

class Roster {
 public:
  // `departures`: what the plan has asked to leave so far. All must outlive it.
  Roster(Overlay& overlay, const Applicant& applicant, const Departures& departures);

  size_t size() const { return units_.size(); }
  const Unit& unit(UnitIndex index) const { return units_[index.value].unit; }

  // Units with replicas on a node where the applicant might go, cheapest first.
  const std::map<NodeName, std::vector<UnitIndex>>& by_node() const { return by_node_; }

  // All units, cheapest first or smallest first.
  enum class By { kCost, kSize };
  std::vector<UnitIndex> sorted(By by) const;

  // Takes the unit out of the overlay. False, and nothing happens: it has left already, or
  // a protection now stands against it because of those that left before. A whole attempt
  // takes over its surplus replicas.
  bool leave(UnitIndex index);
  // Puts it back. Requires that it left.
  void stay(UnitIndex index);
  void all_stay();

  // Those that left, in the order in which they did.
  const std::vector<UnitIndex>& left() const { return left_; }
  // The replicas that left with it.
  const std::vector<const Replica*>& freed(UnitIndex index) const { return units_[index.value].freed; }
  bool has_left(const Unit& unit, const Replica& replica) const;
  const Departures& gone() const { return gone_; }

  // Leaves them, for the rest of the overlay's life, as leaving: they hold until they end.
  void settle();

 private:
  struct Entry {
    Unit unit;
    std::vector<const Replica*> freed{};
  };
  void absorb_surplus(const Unit& whole, Entry& into);
  Account account(const Unit& unit, Hold hold);

  Overlay& overlay_;
  const Applicant& applicant_;
  GuaranteeLines lines_;
  std::vector<Entry> units_;
  std::map<NodeName, std::vector<UnitIndex>> by_node_;
  std::vector<UnitIndex> left_;
  Departures gone_;
};

}  // namespace moulin
