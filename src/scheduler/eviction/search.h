// The cheapest evictions after which an applicant starts.
//
// Room is made on one node after the other, each time where it costs least; what leaves
// already costs nothing, so nobody is evicted where it is enough to wait for that. Where
// this does not lead to a start (limits of the tree, gangs that block each other), units
// are added in order of cost until it does. In the end each unit that turns out
// superfluous stays. What is returned always lets the applicant start.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "scheduler/eviction/node_option.h"

namespace moulin {

// An eviction may end at most this many times what the applicant asks for, in GPU, or in
// CPU when it asks for no GPU. Production is not bound, and what is taken back for a guarantee
// does not count.
inline constexpr int64_t kDisruptionMost = 2;

// Up to so many victims and replicas, other places are tried to spare a victim.
inline constexpr int64_t kReplacedMost = 16;

struct Eviction {
  std::vector<EvictItem> items{};  // empty: it is enough to wait for what leaves already
  Claim claim{};
};

class EvictionSearch {
 public:
  // All must outlive it.
  EvictionSearch(Overlay& overlay, const Applicant& applicant, UnitStock& stock);

  // On success the victims are leaving and the claim is placed in the overlay; the caller
  // tells the stock who departs. Else the overlay is as before.
  std::optional<Eviction> run();

  // The replicas that leave by the items.
  Departures evicted() const { return roster_.evicted(); }
  // Whether victims were found and given up because too much would end.
  bool was_too_disruptive() const { return too_disruptive_; }

 private:
  // A node by the cost of making room there, or by a bound of it.
  using NodeByCost = std::pair<EvictionCost, NodeIndex>;

  bool lacks_guarantee() const;
  bool might_succeed() const;
  bool solve();
  bool is_small_enough();
  void start_over();
  bool by_nodes();
  bool by_order(UnitStock::By by);
  bool place_all();
  void take_places_back();
  void leave_first(const std::vector<UnitIndex>& order, size_t count);
  bool make_room();
  void weigh_nodes();
  void weigh(NodeIndex index);
  void weigh_again(const NodeName& name);
  void weigh_the_promising();
  const NodeRoom& room_of(NodeIndex index) const;
  void drop_superfluous();
  bool stays_beside(UnitIndex index);
  bool stays_elsewhere(UnitIndex index);
  bool is_within_bound() const;
  std::vector<EvictItem> items() const;
  Instant left_by(const Unit& unit) const;
  Claim claim() const;

  Overlay& overlay_;
  const Applicant& applicant_;
  UnitStock& stock_;
  const Overlay::Mark start_;
  Roster roster_;
  std::map<NodeByCost, NodeOption> options_;   // of the nodes that were weighed
  std::map<NodeIndex, EvictionCost> weighed_;  // their keys in options_
  std::vector<NodeByCost> promises_;           // of all nodes, the least promising first
  std::vector<ReplicaPlacement> places_;
  bool too_disruptive_ = false;
};

}  // namespace moulin
