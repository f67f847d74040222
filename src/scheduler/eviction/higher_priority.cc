#include "scheduler/eviction/higher_priority.h"

namespace moulin {

Judgement judge_higher_priority(const Applicant& applicant, const Workload& victim, Instant now) {
  const WorkloadSpec& ours = applicant.spec;
  const WorkloadSpec& theirs = victim.spec;
  if (theirs.priority_class == Class::kProduction) return {.protection = Protection::kProduction};
  bool alike = ours.project == theirs.project && ours.priority_class == theirs.priority_class;
  if (!alike || theirs.priority >= ours.priority) return {.protection = Protection::kRank};
  Instant since = victim.attempts.back().running_since;
  Duration ran = since == Instant{} ? Duration{} : now - since;
  if (ran < theirs.min_runtime) return {.protection = Protection::kMinRuntime};
  return {.cause = Cause::kHigherPriority, .protection = Protection::kNone};
}

}  // namespace moulin
