// What the scheduler decided in one pass.
#pragma once

#include <vector>

#include "base/instant.h"
#include "model/grant.h"
#include "model/reason.h"
#include "model/workload.h"

namespace moulin {

struct ReplicaPlacement {
  ReplicaIndex replica{};
  Placement placement{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "replica", self.replica);
    visit(2, "placement", self.placement);
  }
  bool operator==(const ReplicaPlacement&) const = default;
};

// A new attempt with at least the minimum of replicas; or, when `surplus`, more replicas
// for the live attempt.
struct StartItem {
  WorkloadId workload{};
  std::vector<ReplicaPlacement> replicas{};
  bool surplus = false;
  bool operator==(const StartItem&) const = default;
};

// The end of a whole live attempt, or, when `replicas` is not empty, of these surplus
// replicas only.
struct EvictItem {
  WorkloadId victim{};
  std::vector<ReplicaIndex> replicas{};
  Cause cause = Cause::kNone;
  WorkloadId beneficiary{};
  bool operator==(const EvictItem&) const = default;
};

// Capacity that leaving victims free for the workload they were evicted for. Nobody else
// takes it until the owner starts or ends, or `expires`.
struct Claim {
  WorkloadId owner{};
  std::vector<ReplicaPlacement> places{};  // where the owner will start
  std::vector<WorkloadId> victims{};
  Instant made{};
  Instant expires{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "owner", self.owner);
    visit(2, "places", self.places);
    visit(3, "victims", self.victims);
    visit(4, "made", self.made);
    visit(5, "expires", self.expires);
  }
  bool operator==(const Claim&) const = default;
};

struct WaitItem {
  WorkloadId workload{};
  std::vector<ReasonCode> reasons{};  // as `why` orders them
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "reasons", self.reasons);
  }
  bool operator==(const WaitItem&) const = default;
};

struct PassCounts {
  int64_t workloads_examined = 0;
  int64_t candidates_touched = 0;  // nodes looked at
  int64_t evictions_tried = 0;
};

// Items are in the order in which they must be applied.
struct Plan {
  Sequence seen{};  // the state it was made from
  std::vector<StartItem> starts{};
  std::vector<EvictItem> evictions{};
  std::vector<Claim> claims{};
  std::vector<WaitItem> waits{};  // of those examined and left waiting
  bool complete = true;           // false: the budget ended it; call again to go on
  PassCounts counts{};
};

}  // namespace moulin
