// What is due when. Derived from the state, kept up to date by events, so that a tick
// costs what is due and not what exists.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "model/event.h"
#include "model/state.h"

namespace moulin {

enum class DueKind {
  kDurationLimit,  // a running workload reaches limits.duration
  kBackOffEnds,    // a waiting workload, or a missing replica of a service, may start again
  kClaimExpires,   // the owner did not start in time
  kForget,         // a finished workload leaves the memory
};

struct Due {
  Instant at{};
  DueKind kind = DueKind::kForget;
  WorkloadId workload{};
  auto operator<=>(const Due&) const = default;
};

// Finished workloads stay in memory for this long, and at most so many of them.
inline constexpr Duration kFinishedKept = hours(1);
inline constexpr size_t kFinishedKeptMax = 20'000;

class Agenda {
 public:
  static Agenda build(const State& state);

  // After apply() changed the state to `after`.
  void apply(const State& after, const Event& event);

  // The earliest instant at which something is due; nothing when there is nothing.
  std::optional<Instant> next() const;

  // What is due at `now`, earliest first, at most `count_max`.
  std::vector<Due> due(Instant now, size_t count_max) const;

  // When the oldest remembered request came.
  std::optional<Instant> oldest_request() const;

  // The oldest finished workloads beyond kFinishedKeptMax, at most `count_max`.
  std::vector<WorkloadId> surplus_finished(size_t count_max) const;

  bool operator==(const Agenda&) const = default;

 private:
  void refresh(const State& state, WorkloadId id);

  std::set<Due> dues_{};
  std::set<std::pair<Instant, RequestKey>> requests_{};
  std::set<std::pair<Instant, WorkloadId>> finished_{};  // by when they are forgotten
  // What dues_ holds for each workload, so that it can be taken out again.
  std::map<WorkloadId, std::vector<Due>> by_workload_{};
};

}  // namespace moulin
