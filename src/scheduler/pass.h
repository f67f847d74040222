// One slice of a round: who starts, who grows, who must leave, who waits and why.
#pragma once

#include "scheduler/eviction/search.h"
#include "scheduler/overlay.h"
#include "scheduler/round.h"

namespace moulin {

class Pass {
 public:
  // All must outlive it; the order of the memory looks at this overlay.
  Pass(Overlay& overlay, const PassBudget& budget, RoundMemory& memory);

  // What must leave because its place goes away.
  void drain();
  // Lists the projects, as far as the budget goes.
  void put_in_order();
  Plan run();

 private:
  void serve_all();
  void serve(WorkloadId id);
  void serve_one(const Workload& workload);
  bool start(const Applicant& applicant);
  bool evict(const Applicant& applicant);
  std::vector<ReasonCode> blockers(const Applicant& applicant, const Workload& workload);
  void adopt(const Eviction& eviction);
  bool is_one_of_several() const;
  void note_start(const Workload& workload);
  void note_claim_used();
  void refuse(const Workload& workload, Refusals::Refusal refusal);
  void wait(const Workload& workload, std::vector<ReasonCode> reasons);
  void grow();
  UnitStock& stock();
  bool must_wait_for(const Workload& workload) const;
  bool is_spent() const;

  const View& view_;
  const PassBudget budget_;
  Overlay& overlay_;
  RoundMemory& memory_;
  Plan plan_;
  std::optional<UnitStock> stock_;  // made when first asked for
  bool may_evict_ = false;          // the last that asked for evictions has a cause
  bool too_disruptive_ = false;     // its search
};

}  // namespace moulin
