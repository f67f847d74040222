#include "scheduler/eviction/guarantee_lines.h"

#include <algorithm>

#include "scheduler/limits.h"

namespace moulin {

const TreePath& GuaranteeLines::path(const TreeName& at) {
  TreePath& path = paths_[at];
  if (path.empty()) path = path_to_root(overlay_.state(), at);
  return path;
}

const GuaranteeLine& GuaranteeLines::of(const TreeName& at) {
  auto found = lines_.find(at);
  if (found != lines_.end()) return found->second;
  return lines_.emplace(at, make(at)).first->second;
}

// Calls itself as deep as the tree is: at most kTreeDepthMax levels.
GuaranteeLine GuaranteeLines::make(const TreeName& at) {
  if (path(at).front()->kind == TreeKind::kProject) return {overlay_, path(at), departures_};
  std::vector<const GuaranteeLine*> below;
  if (const std::vector<TreeName>* children = overlay_.index().children(at)) {
    for (const TreeName& child : *children) below.push_back(&of(child));
  }
  return {overlay_, path(at), below};
}

bool GuaranteeLines::is_above(const TreeName& at, const Workload& victim, const Departures& gone) {
  QuotaKey key = measured_in(overlay_, victim);
  auto [inside, is_new] = all_inside_.try_emplace({at, key}, false);
  if (is_new) {
    int64_t held = overlay_.index().room().amount(at, key).held;
    inside->second = held <= guaranteed(overlay_.state(), overlay_.index(), path(at), 0, key);
  }
  return !inside->second && of(at).is_above(victim.id, gone);
}

bool GuaranteeLines::may_any_be_above(const TreeName& parent, const QuotaKey& key) {
  auto [any, is_new] = any_above_.try_emplace({parent, key}, false);
  if (!is_new) return any->second;
  auto is_above = [&](const TreeName& child) {
    int64_t held = overlay_.index().room().amount(child, key).held;
    return held > 0 && held > guaranteed(overlay_.state(), overlay_.index(), path(child), 0, key);
  };
  const std::vector<TreeName>* children = overlay_.index().children(parent);
  return any->second = children != nullptr && std::ranges::any_of(*children, is_above);
}

bool GuaranteeLines::may_departments_guard() {
  if (departments_guard_) return *departments_guard_;
  departments_guard_ = false;
  for (const auto& [name, node] : overlay_.state().tree)
    *departments_guard_ |= node->kind == TreeKind::kDepartment && !node->quotas.empty();
  return *departments_guard_;
}

void GuaranteeLines::depart(const TreeName& project, const ReplicaRef& ref) {
  for (const TreeNode* node : path(project)) {
    auto found = lines_.find(node->name);
    if (found != lines_.end()) found->second.depart(ref);
  }
}

}  // namespace moulin
