#include "scheduler/order.h"

#include <algorithm>

#include "scheduler/limits.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

// The largest share that one replica takes on a device of the pool.
Share largest_share(const Index& index, const WorkloadSpec& spec, const PoolName& pool) {
  const GpuRequest& gpu = spec.resources.gpu;
  if (gpu.form != GpuForm::kMemory) return gpu.share * gpu.count;
  Share largest{};
  for (const auto& [make, count] : index.makes()) {
    if (make.empty.pool != pool) continue;
    for (const OfferCount& entry : make.empty.offers) {
      if (!may_use_model(spec.resources, entry.offer.model)) continue;
      if (std::optional<DeviceNeed> need = need_on(spec.resources, entry.offer))
        largest = std::max(largest, need->share);
    }
  }
  return largest;
}

// What a tree node is entitled to. Fair share will enter here: min(limit, max(guaranteed,
// fair share)).
int64_t entitled(const Overlay& overlay, const TreePath& path, size_t level, const QuotaKey& key) {
  int64_t ours = guaranteed(overlay.state(), overlay.index(), path, level, key);
  int64_t base = ours > 0 ? ours : overlay.index().capacity(key);
  auto quota = path[level]->quotas.find(key);
  if (quota == path[level]->quotas.end() || !quota->second.limit) return base;
  return std::min(base, *quota->second.limit);
}

int64_t rank_of(const TreeNode& node, const std::vector<Holding>& next) {
  for (const Holding& holding : next) {
    auto quota = node.quotas.find(holding.key);
    if (quota != node.quotas.end()) return quota->second.rank;
  }
  return 0;
}

}  // namespace

PoolName home_pool(const Index& index, const WorkloadSpec& spec) {
  if (!spec.pools.empty()) return spec.pools.front();
  PoolName first;
  for (const auto& [make, count] : index.makes()) {
    const PoolName& pool = make.empty.pool;
    if (pool == kDefaultPool) return pool;
    if (first.empty() || pool < first) first = pool;
  }
  return first.empty() ? kDefaultPool : first;
}

std::vector<Holding> asked(const Index& index, const WorkloadSpec& spec) {
  PoolName pool = home_pool(index, spec);
  std::vector<Holding> holdings;
  auto add = [&](Resource resource, int64_t each) {
    if (each > 0) holdings.push_back({{pool, resource, {}}, each * spec.replicas.min});
  };
  add(Resource::kGpu, largest_share(index, spec, pool).milli);
  add(Resource::kCpu, spec.resources.cpu.milli);
  add(Resource::kMemory, spec.resources.memory.count);
  return holdings;
}

Standing standing(const Overlay& overlay, const TreePath& path, size_t level, const std::vector<Holding>& next) {
  const TreeNode& node = *path[level];
  Standing result{.lowness = -rank_of(node, next), .saturation = {0, 1}, .order = node.order, .name = node.name};
  for (const Holding& holding : next) {
    int64_t held = overlay.room().amount(node.name, holding.key).after;
    int64_t entitlement = entitled(overlay, path, level, holding.key);
    result.above_entitled |= held > entitlement;
    bool matters = holding.key.resource == Resource::kGpu || guarantee_binds(node, holding.key);
    int64_t ours = matters ? guaranteed(overlay.state(), overlay.index(), path, level, holding.key) : kNoLimit;
    result.beyond_guarantee |= held + holding.amount > ours;
    result.saturation = std::max(result.saturation, Ratio{held + holding.amount, entitlement});
  }
  return result;
}

// ---- QueueCursor ----

QueueCursor::QueueCursor(const State& state, const WaitQueue& queue, Instant now)
    : state_(state), at_(queue.begin()), end_(queue.end()), now_(now) {
  fill();
}

void QueueCursor::pop() {
  run_.pop_back();
  if (run_.empty()) fill();
}

void QueueCursor::fill() {
  while (run_.empty() && at_ != end_) {
    Class priority_class = at_->first.priority_class;
    bool more = true;
    while (more) {
      const WaitKey& key = at_->first;
      if (state_.workload(key.id)->eligible_from <= now_) run_.push_back(key);
      bool at_top = effective_priority(key, now_) == kPriorityTop;
      ++at_;
      more = at_top && at_ != end_ && at_->first.priority_class == priority_class;
    }
  }
  std::ranges::sort(run_, [this](const WaitKey& a, const WaitKey& b) { return is_served_before(b, a, now_); });
}

// ---- ServingOrder ----

ServingOrder::ServingOrder(const Overlay& overlay) : overlay_(overlay) {
  for (const auto& [project, queue] : overlay.index().waiting()) {
    TreePath path = path_to_root(overlay.state(), project);
    MOULIN_CHECK(!path.empty(), "a workload of an unknown project");
    branch_of(path).queue.emplace(overlay.state(), *queue, overlay.now());
  }
  for (const auto& [project, queue] : overlay.index().waiting()) refresh(project);
}

ServingOrder::Branch& ServingOrder::branch_of(const TreePath& path) {
  std::unique_ptr<Branch>& branch = branches_[path.front()->name];
  if (branch) return *branch;
  branch = std::make_unique<Branch>();
  branch->node = path.front();
  branch->path = path;
  Branch& made = *branch;
  if (path.size() > 1) made.parent = &branch_of(TreePath(path.begin() + 1, path.end()));
  return made;
}

const WaitKey* ServingOrder::head_of(const Branch& branch) const {
  if (branch.queue) return branch.queue->done() ? nullptr : &branch.queue->head();
  return branch.children.empty() ? nullptr : head_of(*branch.children.begin()->second);
}

void ServingOrder::enlist(Branch& branch) {
  if (branch.parent == nullptr) return;
  if (branch.standing) branch.parent->children.erase(*branch.standing);
  branch.standing.reset();
  const WaitKey* head = head_of(branch);
  if (head == nullptr) return;
  std::vector<Holding> next = asked(overlay_.index(), overlay_.state().workload(head->id)->spec);
  branch.standing = moulin::standing(overlay_, branch.path, 0, next);
  branch.parent->children.emplace(*branch.standing, &branch);
}

void ServingOrder::refresh(const TreeName& project) {
  auto found = branches_.find(project);
  if (found == branches_.end()) return;
  for (Branch* branch = found->second.get(); branch != nullptr; branch = branch->parent) enlist(*branch);
}

std::optional<WorkloadId> ServingOrder::next() {
  auto root = branches_.find(kRootTree);
  if (root == branches_.end()) return std::nullopt;
  Branch* branch = root->second.get();
  while (!branch->children.empty()) branch = branch->children.begin()->second;
  if (!branch->queue || branch->queue->done()) return std::nullopt;
  WorkloadId id = branch->queue->head().id;
  branch->queue->pop();
  refresh(branch->node->name);
  return id;
}

}  // namespace moulin
