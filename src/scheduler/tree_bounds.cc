#include "scheduler/tree_bounds.h"

#include <optional>

#include "scheduler/limits.h"
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
      std::optional<DeviceNeed> need = need_on(spec.resources, entry.offer);
      if (!need || !may_use_model(spec.resources, entry.offer.model)) continue;
      Share total = need->share * spec.resources.gpu.count;
      auto [at, is_new] = of_pool.try_emplace(entry.offer.model, total);
      if (!is_new) at->second = std::min(at->second, total);
    }
  }
  return shares;
}

class LevelBounds {
 public:
  LevelBounds(const View& view, const Room& room, const Applicant& applicant, size_t level, BoundKind kind)
      : view_(view), room_(room), applicant_(applicant), level_(level), kind_(kind) {}

  // The bounds of one pool. Of models, which are alternatives, the widest may stand for all.
  enum class Models { kAll, kWidest };
  std::vector<Bound> of_pool(Models models, const PoolName& pool, const std::map<ModelName, Share>& shares) const {
    std::vector<Bound> bounds;
    const Resources& resources = applicant_.spec.resources;
    auto add = [&](Resource resource, int64_t each) {
      auto bound = this->bound({pool, resource, {}}, each);
      if (bound) bounds.push_back(*bound);
    };
    if (!shares.empty()) {
      auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
      add(Resource::kGpu, std::ranges::min_element(shares, smaller)->second.milli);
      if (models == Models::kWidest) {
        if (auto widest = widest_model(pool, shares)) bounds.push_back(*widest);
      } else {
        for (const auto& [model, share] : shares) {
          if (auto of_model = bound({pool, Resource::kGpu, model}, share.milli)) bounds.push_back(*of_model);
        }
      }
    }
    add(Resource::kCpu, resources.cpu.milli);
    add(Resource::kMemory, resources.memory.count);
    return bounds;
  }

 private:
  std::optional<Bound> bound(const QuotaKey& key, int64_t each) const {
    if (each == 0) return std::nullopt;
    const TreeNode& node = *applicant_.path[level_];
    Amount amount = room_.amount(node.name, key);
    Bound bound{.key = key, .each = each};
    if (kind_ == BoundKind::kLimit) {
      auto quota = node.quotas.find(key);
      if (quota == node.quotas.end() || !quota->second.limit) return std::nullopt;
      bound.amount = *quota->second.limit;
      bound.held = amount.most();
    } else {
      if (!guarantee_binds(node, key)) return std::nullopt;
      bound.amount = guaranteed(view_.state, view_.index, applicant_.path, level_, key);
      bound.held = amount.production;
    }
    bound.replicas = times({bound.amount - bound.held, each});
    return bound;
  }

  std::optional<Bound> widest_model(const PoolName& pool, const std::map<ModelName, Share>& shares) const {
    std::optional<Bound> widest;
    int64_t total = 0;
    for (const auto& [model, share] : shares) {
      std::optional<Bound> of_model = bound({pool, Resource::kGpu, model}, share.milli);
      if (!of_model) return std::nullopt;  // this model is not bound, so models do not block
      total += of_model->replicas;
      if (!widest || of_model->replicas > widest->replicas) widest = of_model;
    }
    if (widest) widest->replicas = total;
    return widest;
  }

  const View& view_;
  const Room& room_;
  const Applicant& applicant_;
  size_t level_;
  BoundKind kind_;
};

}  // namespace

std::vector<Bound> blocking_bounds(const View& view, const Room& room, const Applicant& applicant, size_t level,
                                   BoundKind kind) {
  int64_t wanted = applicant.spec.replicas.min;
  bool wants_gpu = applicant.spec.resources.gpu.form != GpuForm::kNone;
  LevelBounds level_bounds(view, room, applicant, level, kind);
  std::vector<Bound> best;
  int64_t best_replicas = -1;
  int64_t total = 0;
  for (const auto& [pool, shares] : smallest_shares(view.index, applicant.spec)) {
    if (wants_gpu && shares.empty()) continue;
    std::vector<Bound> bounds = level_bounds.of_pool(LevelBounds::Models::kWidest, pool, shares);
    int64_t replicas = kManyReplicas;
    for (const Bound& bound : bounds) replicas = std::min(replicas, bound.replicas);
    total += replicas;
    if (total >= wanted) return {};
    if (replicas > best_replicas) {
      best_replicas = replicas;
      best = std::move(bounds);
    }
  }
  std::erase_if(best, [wanted](const Bound& bound) { return bound.replicas >= wanted; });
  return best;
}

std::vector<Bound> bounds_at(const View& view, const Room& room, const Applicant& applicant, size_t level,
                             BoundKind kind) {
  LevelBounds level_bounds(view, room, applicant, level, kind);
  std::vector<Bound> all;
  for (const auto& [pool, shares] : smallest_shares(view.index, applicant.spec)) {
    for (const Bound& bound : level_bounds.of_pool(LevelBounds::Models::kAll, pool, shares)) all.push_back(bound);
  }
  return all;
}

}  // namespace moulin
