#include "scheduler/order.h"

#include <algorithm>

#include "scheduler/limits.h"

namespace moulin {

namespace {

// min(limit, max(guaranteed, fair share)).
int64_t entitled(const FairShares& fair, const Overlay& overlay, const TreePath& path, size_t level,
                 const QuotaKey& key) {
  int64_t ours = guaranteed(overlay.state(), overlay.index(), path, level, key);
  int64_t most = std::max(ours, fair.share(*path[level], key));
  auto quota = path[level]->quotas.find(key);
  if (quota == path[level]->quotas.end() || !quota->second.limit) return most;
  return std::min(most, *quota->second.limit);
}

int64_t rank_of(const TreeNode& node, const std::vector<Holding>& next) {
  for (const Holding& holding : next) {
    auto quota = node.quotas.find(holding.key);
    if (quota != node.quotas.end()) return quota->second.rank;
  }
  return 0;
}

}  // namespace

Standing standing(const FairShares& fair, const Overlay& overlay, const TreePath& path, size_t level,
                  const std::vector<Holding>& next) {
  const TreeNode& node = *path[level];
  Standing result{.lowness = -rank_of(node, next), .saturation = {0, 1}, .order = node.order};
  for (const Holding& holding : next) {
    int64_t held = overlay.room().amount(node.name, holding.key).after;
    int64_t entitlement = entitled(fair, overlay, path, level, holding.key);
    result.above_entitled |= held > entitlement;
    bool matters = holding.key.resource == Resource::kGpu || guarantee_binds(node, holding.key);
    int64_t ours = matters ? guaranteed(overlay.state(), overlay.index(), path, level, holding.key) : kNoLimit;
    result.beyond_guarantee |= held + holding.amount > ours;
    result.saturation = std::max(result.saturation, Ratio{held + holding.amount, entitlement});
  }
  return result;
}

// ---- QueueCursor ----

void QueueCursor::pop(const View& view, const WaitQueues& queues) {
  run_.pop_back();
  if (run_.empty()) fill(view, queues);
}

void QueueCursor::catch_up(const View& view, const WaitQueues& queues) {
  auto waits = [&](const WaitKey& key) {
    const Workload* workload = view.state.workload(key.id);
    return workload != nullptr && workload->state == WorkloadState::kWaiting && workload->eligible_from <= view.now &&
           wait_key(*workload) == key;
  };
  std::erase_if(run_, [&](const WaitKey& key) { return !waits(key); });
  if (run_.empty()) fill(view, queues);
}

void QueueCursor::fill(const View& view, const WaitQueues& queues) {
  const Cow<WaitQueue>* queue = queues.find(project_);
  if (queue == nullptr) return;
  auto at = taken_ ? (*queue)->lower_bound(*taken_) : (*queue)->begin();
  auto end = (*queue)->end();
  if (taken_ && at != end && at->first == *taken_) ++at;
  while (run_.empty() && at != end) {
    Class priority_class = at->first.priority_class;
    bool more = true;
    while (more) {
      const WaitKey& key = at->first;
      taken_ = key;
      if (view.state.workload(key.id)->eligible_from <= view.now) run_.push_back(key);
      bool at_top = effective_priority(key, view.now) == kPriorityTop;
      ++at;
      more = at_top && at != end && at->first.priority_class == priority_class;
    }
  }
  if (run_.size() < 2) return;
  std::ranges::sort(run_, [&](const WaitKey& a, const WaitKey& b) { return is_served_before(b, a, view.now); });
}

// ---- ServingOrder ----

ServingOrder::ServingOrder(Overlay& overlay, int64_t projects_first)
    : overlay_(&overlay), fair_(FairShares::of(overlay.state(), overlay.index(), overlay.room())) {
  if (projects_first > 0) add_projects(projects_first);
}

bool ServingOrder::add_projects(int64_t most) {
  const WaitQueues& waiting = queues();
  auto at = added_.empty() ? waiting.begin() : waiting.lower_bound(added_);
  for (; at != waiting.end() && most > 0; ++at, --most) {
    if (at->first == added_) continue;
    added_ = at->first;
    add(added_);
    climb(added_, Why::kHead);
  }
  return at == waiting.end();
}

void ServingOrder::add(const TreeName& project) {
  const TreePath& path = overlay_->path(project);
  MOULIN_CHECK(!path.empty(), "a workload of an unknown project");
  Branch& branch = branch_of(path, 0);
  if (branch.queue) return;  // it had a change before its turn came
  branch.queue.emplace(project);
  branch.queue->catch_up(overlay_->view(), queues());
}

ServingOrder::Branch& ServingOrder::branch_of(const TreePath& path, size_t level) {
  std::unique_ptr<Branch>& branch = branches_[path[level]->name];
  if (branch) return *branch;
  branch = std::make_unique<Branch>();
  Branch& made = *branch;
  made.name = path[level]->name;
  if (level + 1 < path.size())
    made.parent = &branch_of(path, level + 1);
  else
    root_ = &made;
  return made;
}

const WaitKey* ServingOrder::head_of(const Branch& branch) const {
  const Branch* at = &branch;
  while (!at->queue) {
    if (at->children.empty()) return nullptr;
    at = at->children.begin()->second;
  }
  return at->queue->head();
}

void ServingOrder::enlist(Branch& branch, const TreePath& path, size_t level, std::vector<Holding> next) {
  std::optional<Standing> standing;
  if (!next.empty() || head_of(branch) != nullptr) standing = moulin::standing(fair_, *overlay_, path, level, next);
  branch.next = std::move(next);
  if (branch.standing == standing) return;
  if (branch.standing) branch.parent->children.erase(*branch.standing);
  branch.standing = standing;
  if (standing) branch.parent->children.emplace(*standing, &branch);
}

// From the project towards the root, as far as something can be different there. What has
// no branch has nothing to serve, but its ancestors may hold more by it.
void ServingOrder::climb(const TreeName& project, Why why) {
  const TreePath& path = overlay_->path(project);
  for (size_t level = 0; level + 1 < path.size(); ++level) {
    auto found = branches_.find(path[level]->name);
    if (found == branches_.end()) continue;
    Branch& branch = *found->second;
    const WaitKey* head = head_of(branch);
    std::vector<Holding> next;
    if (head != nullptr) next = asked(overlay_->index().makes(), overlay_->state().workload(head->id)->spec);
    bool listed = branch.standing.has_value() == (head != nullptr);
    if (why == Why::kHead && listed && next == branch.next) return;
    enlist(branch, path, level, std::move(next));
  }
}

void ServingOrder::refresh(const TreeName& project) { climb(project, Why::kHolds); }

void ServingOrder::go_on(Overlay& overlay, const std::set<TreeName>& changed) {
  overlay_ = &overlay;
  for (const TreeName& project : changed) {
    auto found = branches_.find(project);
    bool known = found != branches_.end();
    if (known) found->second->queue->catch_up(overlay.view(), queues());
    if (!known && queues().contains(project)) add(project);
    climb(project, Why::kHolds);
  }
}

std::optional<WorkloadId> ServingOrder::next() {
  if (root_ == nullptr) return std::nullopt;
  Branch* branch = root_;
  while (!branch->children.empty()) branch = branch->children.begin()->second;
  if (!branch->queue || branch->queue->head() == nullptr) return std::nullopt;
  WorkloadId id = branch->queue->head()->id;
  branch->queue->pop(overlay_->view(), queues());
  climb(branch->name, Why::kHead);
  return id;
}

}  // namespace moulin
