#include "scheduler/eviction/higher_priority.h"

#include "scheduler/eviction/min_runtime.h"

namespace moulin {

Judgement judge_higher_priority(const Applicant& applicant, const Workload& victim, Instant now) {
  const WorkloadSpec& ours = applicant.spec;
  const WorkloadSpec& theirs = victim.spec;
  if (theirs.priority_class == Class::kProduction) return {.protection = Protection::kProduction};
  bool alike = ours.project == theirs.project && ours.priority_class == theirs.priority_class;
  if (!alike || theirs.priority >= ours.priority) return {.protection = Protection::kRank};
  if (!has_had_min_runtime(victim, now)) return {.protection = Protection::kMinRuntime};
  return {.cause = Cause::kHigherPriority, .protection = Protection::kNone};
}

}  // namespace moulin
