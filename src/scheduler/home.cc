#include "scheduler/home.h"

#include <algorithm>

#include "scheduler/applicant.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

// The largest share that one replica takes on a device of the pool.
Share largest_share(const NodeMakes& makes, const WorkloadSpec& spec, const PoolName& pool) {
  const GpuRequest& gpu = spec.resources.gpu;
  if (gpu.form != GpuForm::kMemory) return gpu.share * gpu.count;
  Share largest{};
  for (const auto& [make, count] : makes) {
    if (make.empty.pool != pool) continue;
    for (const OfferCount& entry : make.empty.offers) {
      if (!may_use_model(spec.resources, entry.offer.model)) continue;
      if (std::optional<DeviceNeed> need = need_on(spec.resources, entry.offer))
        largest = std::max(largest, need->share);
    }
  }
  return largest;
}

}  // namespace

PoolName home_pool(const NodeMakes& makes, const WorkloadSpec& spec) {
  if (!spec.pools.empty()) return spec.pools.front();
  PoolName first;
  for (const auto& [make, count] : makes) {
    const PoolName& pool = make.empty.pool;
    if (pool == kDefaultPool) return pool;
    if (first.empty() || pool < first) first = pool;
  }
  return first.empty() ? kDefaultPool : first;
}

std::vector<Holding> asked(const NodeMakes& makes, const WorkloadSpec& spec) {
  return asked_in(makes, spec, home_pool(makes, spec));
}

std::vector<Holding> asked_in(const NodeMakes& makes, const WorkloadSpec& spec, const PoolName& pool) {
  std::vector<Holding> holdings;
  auto add = [&](Resource resource, int64_t each) {
    if (each > 0) holdings.push_back({{pool, resource, {}}, each * spec.replicas.min});
  };
  add(Resource::kGpu, largest_share(makes, spec, pool).milli);
  add(Resource::kCpu, spec.resources.cpu.milli);
  add(Resource::kMemory, spec.resources.memory.count);
  return holdings;
}

}  // namespace moulin
