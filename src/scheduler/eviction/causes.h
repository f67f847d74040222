// Which workloads an applicant may evict, for which cause, and what protects the others.
#pragma once

#include <functional>
#include <map>

#include "scheduler/applicant.h"
#include "scheduler/eviction/guarantee_line.h"

namespace moulin {

// What stands between an applicant and a workload that it would like to evict.
enum class Protection {
  kNone,        // nothing: it may be evicted
  kProduction,  // production is never preempted
  kRank,        // neither a lower class nor, in the same project, a lower priority
  kGuarantee,   // inside the guarantee of its project
  kMinRuntime,  // has not run long enough for an eviction by priority
};

struct Judgement {
  Cause cause = Cause::kNone;  // not kNone when the protection is kNone
  Protection protection = Protection::kRank;
};

// The guarantee lines of the projects that were asked about.
class GuaranteeLines {
 public:
  GuaranteeLines(const Overlay& overlay, const Departures& departures) : overlay_(overlay), departures_(departures) {}
  const GuaranteeLine& of(const TreeName& project);
  // Whether some of the victim, which stays, is above the line of its project. Quick where
  // the whole project is inside its guarantee.
  bool is_above(const Workload& victim, const Departures& gone);
  // One of that project was asked to leave; it is among the departures from now on.
  void depart(const TreeName& project, const ReplicaRef& ref);

 private:
  const Overlay& overlay_;
  const Departures& departures_;
  std::map<TreeName, GuaranteeLine> lines_;
  std::map<std::pair<TreeName, QuotaKey>, bool> all_inside_;  // as the state has it
};

// Whether some of a workload is above the guarantee line of its project. Asked only where
// the answer matters, because it may take a while.
using IsAbove = std::function<bool(const Workload&)>;

// `victim` is live and stays.
Judgement judge_eviction(const Applicant& applicant, const Workload& victim, const IsAbove& is_above_line, Instant now);

// False: nobody who lives has a lower class, or, in the same project and class, a lower
// priority. A quick answer from the index.
bool may_outrank_anybody(const Index& index, const WorkloadSpec& spec);

}  // namespace moulin
