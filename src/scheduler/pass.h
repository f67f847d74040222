// One pass of the scheduler: who starts, who grows, who must leave, who waits and why.
#pragma once

#include <map>
#include <set>

#include "scheduler/eviction/search.h"
#include "scheduler/order.h"
#include "scheduler/overlay.h"
#include "scheduler/scheduler.h"

namespace moulin {

class Pass {
 public:
  Pass(const View& view, const PassBudget& budget);
  Plan run();

 private:
  // Workloads for which the same answer holds until room is freed.
  struct Alike {
    const Workload& example;
    bool operator<(const Alike& other) const;
  };

  void drain();
  void serve_all();
  void serve(WorkloadId id);
  void serve_one(const Workload& workload);
  bool start(const Applicant& applicant);
  bool evict(const Applicant& applicant);
  std::vector<ReasonCode> blockers(const Applicant& applicant, const Workload& workload);
  void adopt(const Eviction& eviction);
  void wait(const Workload& workload, std::vector<ReasonCode> reasons);
  void grow();
  UnitStock& stock();
  bool must_wait_for(const Workload& workload) const;
  bool is_spent() const;

  const View view_;
  const PassBudget budget_;
  Overlay overlay_;
  ServingOrder order_;
  Plan plan_;
  std::optional<UnitStock> stock_;  // made when first asked for
  std::set<WorkloadId> served_;
  std::set<TreeName> waits_before_;                       // projects of which somebody was left waiting
  bool too_disruptive_ = false;                           // the last search for evictions
  std::map<WorkloadId, std::vector<WorkloadId>> parked_;  // behind the one that evicted them
  std::map<Alike, std::vector<ReasonCode>> refused_;
};

}  // namespace moulin
