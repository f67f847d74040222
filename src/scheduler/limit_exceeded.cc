#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scheduler/admission.h"
#include "scheduler/applicant.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

// The smallest share that one replica takes on a device model of a pool, by model.
using SmallestShares = std::map<PoolName, std::map<ModelName, Share>>;

SmallestShares smallest_shares(const Index& index, const WorkloadSpec& spec) {
  SmallestShares shares;
  for (const auto& [make, count] : index.makes()) {
    if (!may_use_pool(spec, make.empty.pool)) continue;
    std::map<ModelName, Share>& of_pool = shares[make.empty.pool];
    for (const OfferCount& entry : make.empty.offers) {
      if (!may_use_model(spec.resources, entry.offer.model)) continue;
      std::optional<DeviceNeed> need = need_on(spec.resources, entry.offer);
      if (!need) continue;
      Share total = need->share * spec.resources.gpu.count;
      auto [at, is_new] = of_pool.try_emplace(entry.offer.model, total);
      if (!is_new) at->second = std::min(at->second, total);
    }
  }
  return shares;
}

// How many replicas the limit of one key allows by itself.
int64_t allowed(const TreeNode& node, const QuotaKey& key, int64_t each) {
  auto quota = node.quotas.find(key);
  if (quota == node.quotas.end() || !quota->second.limit) return kManyReplicas;
  return times({*quota->second.limit, each});
}

struct Tightest {
  QuotaKey key{};
  int64_t each = 0;
  int64_t replicas = kManyReplicas;
  void consider(const TreeNode& node, const QuotaKey& candidate, int64_t amount) {
    int64_t count = allowed(node, candidate, amount);
    if (count < replicas) *this = {candidate, amount, count};
  }
};

// The key that binds first in one pool, and how many replicas it leaves.
Tightest tightest_in(const TreeNode& node, const WorkloadSpec& spec, const PoolName& pool,
                     const std::map<ModelName, Share>& shares) {
  Tightest tightest;
  tightest.consider(node, {pool, Resource::kCpu, {}}, spec.resources.cpu.milli);
  tightest.consider(node, {pool, Resource::kMemory, {}}, spec.resources.memory.count);
  if (shares.empty()) {
    if (spec.resources.gpu.form != GpuForm::kNone) tightest.replicas = 0;
    return tightest;
  }
  Share smallest = std::ranges::min_element(shares, {}, [](const auto& entry) { return entry.second; })->second;
  tightest.consider(node, {pool, Resource::kGpu, {}}, smallest.milli);
  Tightest models{.replicas = 0};
  for (const auto& [model, share] : shares) {
    QuotaKey key{pool, Resource::kGpu, model};
    models = {key, share.milli, models.replicas + allowed(node, key, share.milli)};
  }
  return models.replicas < tightest.replicas ? models : tightest;
}

std::string amount_text(Resource resource, int64_t amount) {
  switch (resource) {
    case Resource::kGpu: return to_text(Share{amount}) + " GPU";
    case Resource::kCpu: return to_text(CpuMilli{amount}) + " CPU";
    case Resource::kMemory: return to_text(Bytes{amount}) + " of memory";
  }
  MOULIN_UNREACHABLE();
}

std::string field_of(Resource resource) {
  switch (resource) {
    case Resource::kGpu: return "resources.gpu";
    case Resource::kCpu: return "resources.cpu";
    case Resource::kMemory: return "resources.memory";
  }
  MOULIN_UNREACHABLE();
}

Error above_limit(const TreeNode& node, const Tightest& tightest, int64_t replicas) {
  const QuotaKey& key = tightest.key;
  int64_t limit = *node.quotas.at(key).limit;
  std::string model = key.model.empty() ? "" : fmt::format(" of model {}", key.model.text);
  return {.code = Code::kRefused,
          .message = fmt::format("alone above the limit of {} {}", to_text(node.kind), node.name.text),
          .field = field_of(key.resource),
          .given = fmt::format("{}{} in all", amount_text(key.resource, tightest.each * replicas), model),
          .allowed = fmt::format("at most {}{} in pool {}", amount_text(key.resource, limit), model, key.pool.text),
          .to_do = fmt::format("ask for less, or have the limit of {} raised", node.name.text)};
}

}  // namespace

std::optional<Error> limit_exceeded(const View& view, const WorkloadSpec& spec) {
  SmallestShares shares = smallest_shares(view.index, spec);
  for (const TreeNode* node : path_to_root(view.state, spec.project)) {
    int64_t replicas = 0;
    Tightest binding;
    for (const auto& [pool, of_pool] : shares) {
      Tightest here = tightest_in(*node, spec, pool, of_pool);
      replicas += here.replicas;
      if (here.each > 0 && (binding.each == 0 || here.replicas > binding.replicas)) binding = here;
    }
    if (replicas < spec.replicas.min && binding.each > 0) return above_limit(*node, binding, spec.replicas.min);
  }
  return std::nullopt;
}

}  // namespace moulin
