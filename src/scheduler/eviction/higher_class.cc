#include "scheduler/eviction/higher_class.h"

#include "scheduler/eviction/sides.h"

namespace moulin {

namespace {

// The first guarantee that the victim stands inside, from its project to its side; empty: none.
TreeName guard_of(const Applicant& applicant, const Candidate& victim) {
  const TreeName& project = victim.workload.spec.project;
  if (!victim.is_above(victim.workload, project)) return project;
  if (!victim.lines.may_departments_guard()) return {};
  const TreePath& path = victim.lines.path(project);
  Sides sides = sides_of(applicant.path, path);
  for (size_t level = 1; level <= sides.theirs; ++level) {
    if (path[level]->quotas.empty()) continue;  // no guarantee: who is above the line below is above this one
    if (!victim.is_above(victim.workload, path[level]->name)) return path[level]->name;
  }
  return {};
}

}  // namespace

Judgement judge_higher_class(const Applicant& applicant, const Candidate& victim) {
  const WorkloadSpec& theirs = victim.workload.spec;
  if (theirs.priority_class == Class::kProduction) return {.protection = Protection::kProduction};
  if (!is_above(applicant.spec.priority_class, theirs.priority_class)) return {.protection = Protection::kRank};
  if (applicant.spec.project != theirs.project) {
    TreeName guard = guard_of(applicant, victim);
    if (!guard.empty()) return {.protection = Protection::kGuarantee, .guarded_by = guard};
  }
  return {.cause = Cause::kHigherClass, .protection = Protection::kNone};
}

}  // namespace moulin
