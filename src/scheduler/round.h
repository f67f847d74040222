// A round of the scheduler: everybody that waits is looked at once. A long round is made in
// slices, between which the state may change.
//
//   Plan plan = round.slice(view, budget);   // again and again, until plan.complete
//   round.follow(state, event);              // each event that was applied since
//
// A slice costs what it looks at: it does not begin anew with those that were examined. What
// is freed meanwhile goes to whoever is looked at next; those before get it in the next round.
//
// A round looks at everybody only when something happened that could let somebody start who
// could not before, or an hour has passed. Else it looks at those that joined the queue since,
// and at those that may have somebody leave for them. Where one of those could start and
// others of another project, too, their order matters, and the round looks at everybody after
// all: what is decided is always what a look at everybody would decide.
// For one thread. Two rounds that saw the same make the same plans.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "scheduler/order.h"
#include "scheduler/scheduler.h"

namespace moulin {

// What stays known of those that wait from one round to the next.
struct Refusals {
  // Workloads for which the same answer holds until room is freed.
  struct Alike {
    using is_transparent = void;
    bool operator()(const Workload& a, const Workload& b) const;
    bool operator()(const Cow<Workload>& a, const Workload& b) const { return (*this)(*a, b); }
    bool operator()(const Workload& a, const Cow<Workload>& b) const { return (*this)(a, *b); }
    bool operator()(const Cow<Workload>& a, const Cow<Workload>& b) const { return (*this)(*a, *b); }
  };
  struct Refusal {
    std::vector<ReasonCode> reasons{};
    // Only what is freed, or another tree or hardware, changes that: nobody would leave for it.
    bool lasts = false;
  };
  std::map<Cow<Workload>, Refusal, Alike> by_kind{};
  std::map<TreeName, WaitKey> first{};  // in each project, who was left waiting first
};

// What a round knows of the workloads it has looked at.
struct RoundMemory {
  // Of everybody that waits.
  explicit RoundMemory(Overlay& overlay) : order(overlay, 0) {}
  // Of `some` alone; the others wait as they were left before.
  RoundMemory(Overlay& overlay, WaitQueues some, Refusals before);
  RoundMemory(const RoundMemory&) = delete;

  std::optional<WaitQueues> only{};  // absent: everybody is looked at
  ServingOrder order;
  bool is_ordered = false;       // all projects are in the order
  std::set<TreeName> changed{};  // projects that hold or queue something else since the last slice
  std::set<WorkloadId> served{};
  std::map<WorkloadId, std::vector<WorkloadId>> parked{};  // behind the one that evicted them
  Refusals refused{};
  std::vector<WorkloadId> undecided{};  // left waiting, and to be looked at in the next round
  bool is_late = false;                 // something happened that those who were looked at have not seen
  bool needs_everybody = false;         // what would be decided depends on those that are not looked at

  // Whether it has its turn later in this round.
  bool comes_later(const Workload& waiting) const;
};

class Round {
 public:
  // Goes on where the last slice ended; begins anew after a complete one. Complete: everybody
  // was looked at, and nothing has happened since the round began that one of them waits for.
  Plan slice(const View& view, const PassBudget& budget);
  // When time alone may let somebody start whom the last slice looked at; absent: no such time is known.
  std::optional<Instant> look_again() const { return look_again_; }
  // Whether the next slice goes on with a round, or begins one.
  bool is_under_way() const { return memory_ != nullptr; }

  // After `event` led to the state `after`. Cheap. The next slice must see that state.
  void follow(const State& after, const Event& event);

  // The state was replaced by another: the next slice begins a round that looks at everybody.
  void forget();

 private:
  void begin(Overlay& overlay);
  Plan slice_once(const View& view, const PassBudget& budget);
  void end(const State& state);

  std::unique_ptr<RoundMemory> memory_;  // of a round that has begun
  std::optional<WaitQueues> next_;       // whom the next round looks at; absent: everybody
  Refusals refused_;                     // by the last round; good while `next_` is not absent
  std::optional<Instant> look_again_{};
  Instant everybody_at_{};  // when a round that looks at everybody last began
};

}  // namespace moulin
