// Who looks for a place.
#pragma once

#include <algorithm>

#include "scheduler/room.h"

namespace moulin {

// A workload, or one that is not submitted yet. References must outlive it.
struct Applicant {
  const WorkloadSpec& spec;
  const TreePath& path;  // of its project
  WorkloadId id{};       // 0: not submitted
  Account account(Hold hold) const { return {path, spec.priority_class, hold}; }
};

// Pools are one space: an empty list means all of them.
inline bool may_use_pool(const WorkloadSpec& spec, const PoolName& pool) {
  return spec.pools.empty() || std::ranges::find(spec.pools, pool) != spec.pools.end();
}
inline bool may_use_model(const Resources& resources, const ModelName& model) {
  return resources.gpu_models.empty() || std::ranges::find(resources.gpu_models, model) != resources.gpu_models.end();
}

}  // namespace moulin
