#include "scheduler/eviction/higher_class.h"

namespace moulin {

Judgement judge_higher_class(const Applicant& applicant, const Workload& victim, const IsAbove& is_above_line) {
  if (victim.spec.priority_class == Class::kProduction) return {.protection = Protection::kProduction};
  if (!is_above(applicant.spec.priority_class, victim.spec.priority_class)) return {.protection = Protection::kRank};
  bool same_project = applicant.spec.project == victim.spec.project;
  if (!same_project && !is_above_line(victim)) return {.protection = Protection::kGuarantee};
  return {.cause = Cause::kHigherClass, .protection = Protection::kNone};
}

}  // namespace moulin
