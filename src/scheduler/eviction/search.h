// The cheapest evictions after which an applicant starts.
//
// What leaves already counts first: if the applicant fits when that has gone, nobody is
// evicted for it. Else room is made on one node after the other, each time where it costs
// least. Where that does not lead to a start (limits of the tree, gangs that block each
// other), units are added in order of cost until it does. In the end each unit that turns
// out superfluous stays. What is returned always lets the applicant start.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "scheduler/eviction/node_option.h"

namespace moulin {

// An eviction may end at most this many times what the applicant asks for, in GPU, or in
// CPU when it asks for no GPU. Production is not bound.
inline constexpr int64_t kDisruptionMost = 2;

struct Eviction {
  std::vector<EvictItem> items{};  // empty: it is enough to wait for what leaves already
  Claim claim{};
};

class EvictionSearch {
 public:
  // All must outlive it. `departures`: what the plan has asked to leave so far.
  EvictionSearch(Overlay& overlay, const Applicant& applicant, const Departures& departures);

  // On success the victims are leaving and the claim is placed in the overlay, and
  // `departures` are to be added by the caller: gone(). Else the overlay is as before.
  std::optional<Eviction> run();

  // The replicas that leave by the items.
  const Departures& gone() const { return roster_.gone(); }
  // Whether a set of victims was found and given up because it would disrupt too much.
  bool was_too_disruptive() const { return too_disruptive_; }

 private:
  // Options by cost; the name makes the order complete.
  using Options = std::map<std::pair<EvictionCost, NodeName>, NodeOption>;
  struct Leaver {
    const Workload* workload = nullptr;
    const Replica* replica = nullptr;
  };

  void imagine_leavers_gone(const Departures& departures);
  void bring_leavers_back();
  bool might_succeed() const;
  bool solve();
  bool by_nodes();
  bool is_small_enough();
  void start_over();
  bool by_order(Roster::By by);
  bool place_all();
  void take_places_back();
  void leave_first(const std::vector<UnitIndex>& order, size_t count);
  bool make_room(Options& options);
  void refresh(Options& options, const std::set<NodeName>& nodes);
  void drop_superfluous();
  bool would_stay(UnitIndex index);
  bool is_within_bound() const;
  Eviction result() const;
  std::vector<EvictItem> items() const;
  Claim claim() const;

  Overlay& overlay_;
  const Applicant& applicant_;
  const Overlay::Mark start_;
  std::vector<Leaver> leavers_;
  Roster roster_;
  std::vector<ReplicaPlacement> places_;
  bool too_disruptive_ = false;
};

}  // namespace moulin
