#include "scheduler/limits.h"

#include <set>

namespace moulin {

namespace {

const Quota* quota_of(const TreeNode& node, const QuotaKey& key) {
  auto found = node.quotas.find(key);
  return found == node.quotas.end() ? nullptr : &found->second;
}

int64_t declared_guarantee(const TreeNode& node, const QuotaKey& key) {
  const Quota* quota = quota_of(node, key);
  return quota == nullptr || quota->rest ? 0 : quota->guaranteed;
}

// What may be added under the key at every level.
int64_t room_for(const Overlay& overlay, const Applicant& applicant, Hold hold, const QuotaKey& key) {
  int64_t least = kNoLimit;
  bool production = applicant.spec.priority_class == Class::kProduction;
  for (size_t level = 0; level < applicant.path.size(); ++level) {
    const TreeNode& node = *applicant.path[level];
    const Quota* quota = quota_of(node, key);
    bool limited = quota != nullptr && quota->limit;
    bool bound = production && guarantee_binds(node, key);
    if (!limited && !bound) continue;
    Amount amount = overlay.room().amount(node.name, key);
    if (limited) least = std::min(least, *quota->limit - (hold == Hold::kClaimed ? amount.after : amount.most()));
    if (bound) {
      int64_t ours = guaranteed(overlay.state(), overlay.index(), applicant.path, level, key);
      least = std::min(least, ours - amount.production);
    }
  }
  return least;
}

}  // namespace

bool Headroom::holds(Share share, const Resources& resources) const {
  return (share.milli == 0 || (share.milli <= gpu && share.milli <= model)) &&
         (resources.cpu.milli == 0 || resources.cpu.milli <= cpu) &&
         (resources.memory.count == 0 || resources.memory.count <= memory);
}

Headroom headroom(const Overlay& overlay, const Applicant& applicant, Hold hold, const PoolName& pool,
                  const ModelName& model) {
  auto under = [&](Resource resource, const ModelName& of) {
    return room_for(overlay, applicant, hold, {.pool = pool, .resource = resource, .model = of});
  };
  return {.gpu = under(Resource::kGpu, {}),
          .model = model.empty() ? kNoLimit : under(Resource::kGpu, model),
          .cpu = under(Resource::kCpu, {}),
          .memory = under(Resource::kMemory, {})};
}

bool keeps_limits(const Overlay& overlay, const Applicant& applicant, const std::vector<ReplicaPlacement>& places) {
  std::set<std::pair<PoolName, ModelName>> seen;
  for (const ReplicaPlacement& place : places) {
    const NodeRoom& node = *overlay.room().node(place.placement.node);
    ModelName model = place.placement.grants.empty() ? ModelName{} : node.device(place.placement.grants[0].slot)->model;
    if (!seen.emplace(node.pool, model).second) continue;
    Headroom left = headroom(overlay, applicant, Hold::kClaimed, node.pool, model);
    if (left.gpu < 0 || left.model < 0 || left.cpu < 0 || left.memory < 0) return false;
  }
  return true;
}

bool guarantee_binds(const TreeNode& node, const QuotaKey& key) {
  if (key.resource == Resource::kGpu && key.model.empty()) return true;
  if (node.kind == TreeKind::kOrganisation) return false;
  const Quota* quota = quota_of(node, key);
  return quota != nullptr && (quota->rest || quota->guaranteed > 0);
}

int64_t guaranteed(const State& state, const Index& index, const TreePath& path, size_t level, const QuotaKey& key) {
  const TreeNode& node = *path[level];
  if (level + 1 == path.size()) return index.capacity(key);
  const Quota* quota = quota_of(node, key);
  if (quota == nullptr) return 0;
  if (!quota->rest) return quota->guaranteed;
  int64_t rest = guaranteed(state, index, path, level + 1, key);
  for (const TreeName& sibling : *index.children(node.parent)) {
    if (sibling != node.name) rest -= declared_guarantee(*state.tree_node(sibling), key);
  }
  return std::max<int64_t>(rest, 0);
}

}  // namespace moulin
