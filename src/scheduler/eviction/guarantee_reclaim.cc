#include "scheduler/eviction/guarantee_reclaim.h"

#include "scheduler/eviction/min_runtime.h"
#include "scheduler/eviction/sides.h"
#include "scheduler/home.h"
#include "scheduler/limits.h"

namespace moulin {

namespace {

// With GPUs in GPU, else in CPU, as those are that would have to leave.
Resource measured(const WorkloadSpec& spec) {
  return spec.resources.gpu.form == GpuForm::kNone ? Resource::kCpu : Resource::kGpu;
}

std::set<PoolName> pools_of(const Index& index, const WorkloadSpec& spec) {
  std::set<PoolName> pools;
  for (const auto& [make, count] : index.makes()) {
    if (may_use_pool(spec, make.empty.pool)) pools.insert(make.empty.pool);
  }
  return pools;
}

}  // namespace

// Not the organisation: no other side stands beside it.
ReclaimRights::ReclaimRights(const Overlay& overlay, const Applicant& applicant) : overlay_(overlay) {
  for (const PoolName& pool : pools_of(overlay.index(), applicant.spec)) {
    for (const Holding& next : asked_in(overlay.index().makes(), applicant.spec, pool)) {
      if (next.key.resource != measured(applicant.spec)) continue;
      for (size_t level = 0; level + 1 < applicant.path.size(); ++level) {
        const TreeName& side = applicant.path[level]->name;
        int64_t then = overlay.room().amount(side, next.key).after + next.amount;
        if (then > guaranteed(overlay.state(), overlay.index(), applicant.path, level, next.key)) continue;
        inside_.emplace(side, next.key);
        rivals_.emplace(applicant.path[level + 1]->name, next.key);
      }
    }
  }
}

Judgement judge_guarantee_reclaim(const Applicant& applicant, const ReclaimRights& rights, const Candidate& victim,
                                  Instant now) {
  const WorkloadSpec& theirs = victim.workload.spec;
  if (theirs.priority_class == Class::kProduction) return {.protection = Protection::kProduction};
  if (rights.rivals().empty() || applicant.spec.project == theirs.project) return {.protection = Protection::kRank};
  const TreePath& path = victim.lines.path(theirs.project);
  Sides sides = sides_of(applicant.path, path);
  bool inside = rights.holds(applicant.path[sides.ours]->name, rights.key_of(victim.workload));
  if (!inside) return {.protection = Protection::kRank};
  const TreeName& side = path[sides.theirs]->name;
  if (!victim.is_above(victim.workload, side)) return {.protection = Protection::kGuarantee, .guarded_by = side};
  if (!has_had_min_runtime(victim.workload, now)) return {.protection = Protection::kMinRuntime};
  return {.cause = Cause::kGuaranteeReclaim, .protection = Protection::kNone};
}

}  // namespace moulin
