// A round of the scheduler: everybody that waits is looked at once. A long round is made in
// slices, between which the state may change.
//
//   Plan plan = round.slice(view, budget);   // again and again, until plan.complete
//   round.follow(state, event);              // each event that was applied since
//
// A slice costs what it looks at: it does not begin anew with those that were examined. What
// is freed meanwhile goes to whoever is looked at next; those before get it in the next round.
// For one thread. Two rounds that saw the same make the same plans.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "scheduler/order.h"
#include "scheduler/scheduler.h"

namespace moulin {

// What a round knows of the workloads it has looked at.
struct RoundMemory {
  explicit RoundMemory(Overlay& overlay) : order(overlay, 0) {}

  // Workloads for which the same answer holds until room is freed.
  struct Alike {
    using is_transparent = void;
    bool operator()(const Workload& a, const Workload& b) const;
    bool operator()(const Cow<Workload>& a, const Workload& b) const { return (*this)(*a, b); }
    bool operator()(const Workload& a, const Cow<Workload>& b) const { return (*this)(a, *b); }
    bool operator()(const Cow<Workload>& a, const Cow<Workload>& b) const { return (*this)(*a, *b); }
  };

  ServingOrder order;
  bool is_ordered = false;       // all projects are in the order
  std::set<TreeName> changed{};  // projects that hold or queue something else since the last slice
  std::set<WorkloadId> served{};
  std::set<TreeName> waits_before{};                       // projects of which somebody was left waiting
  std::map<WorkloadId, std::vector<WorkloadId>> parked{};  // behind the one that evicted them
  std::map<Cow<Workload>, std::vector<ReasonCode>, Alike> refused{};
  bool is_late = false;  // something happened that those who were looked at have not seen
};

class Round {
 public:
  // Goes on where the last slice ended; begins anew after a complete one. Complete: everybody
  // was looked at, and nothing has happened since the round began that one of them waits for.
  Plan slice(const View& view, const PassBudget& budget);

  // After `event` led to the state `after`. Cheap. The next slice must see that state.
  void follow(const State& after, const Event& event);

  // The state was replaced by another: the next slice begins a round.
  void forget() { memory_.reset(); }

 private:
  std::unique_ptr<RoundMemory> memory_;  // of a round that has begun
};

}  // namespace moulin
