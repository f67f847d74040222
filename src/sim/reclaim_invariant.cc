#include "sim/reclaim_invariant.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/usage_counter.h"

namespace moulin {

namespace {

// Of the ancestors that two projects do not share, the highest of `project`; or itself.
const TreeNode& side_of(const State& state, const TreeName& project, const TreeName& other) {
  std::vector<const TreeNode*> theirs = path_to_root(state, other);
  const TreeNode* side = nullptr;
  for (const TreeNode* node : path_to_root(state, project)) {
    if (std::ranges::find(theirs, node) != theirs.end()) break;
    side = node;
  }
  return *side;
}

// Absent: it is the rest, which scenarios check.
std::optional<int64_t> declared_guarantee(const TreeNode& node, const QuotaKey& key) {
  auto quota = node.quotas.find(key);
  if (quota == node.quotas.end()) return 0;
  return quota->second.rest ? std::nullopt : std::optional(quota->second.guaranteed);
}

// What stays below `at`, with what leaves for that very workload.
int64_t held_before(const State& state, const TreeName& at, const QuotaKey& key, WorkloadId winner) {
  int64_t held = 0;
  each_holder(state, [&](const Workload& workload, const Attempt& attempt, const Replica& replica) {
    if (attempt.state == AttemptState::kStopping && attempt.evicted_for != winner) return;
    auto is_there = [&](const TreeNode* node) { return node->name == at; };
    if (std::ranges::any_of(path_to_root(state, workload.spec.project), is_there))
      held += amount_of(state, replica.placement, key);
  });
  return held;
}

}  // namespace

// Nobody takes back more than its side's guarantee, and nothing from inside another's.
Violation check_reclaim(const State& before, const Workload& victim, const Workload* winner) {
  std::string name = to_text(victim.id);
  if (victim.spec.priority_class == Class::kProduction) return fmt::format("production {} is taken back", name);
  if (winner == nullptr || winner->spec.project == victim.spec.project)
    return fmt::format("{} is taken back for nobody of another project", name);
  const std::vector<Replica>& replicas = victim.live()->replicas;
  auto holds = [](const Replica& replica) { return replica.state != ReplicaState::kExited; };
  const Placement& place = std::ranges::find_if(replicas, holds)->placement;
  const Node* node = before.node(place.node);
  if (node == nullptr) return {};
  bool gpu = !place.grants.empty();
  QuotaKey key{.pool = node->pool, .resource = gpu ? Resource::kGpu : Resource::kCpu, .model = {}};
  const TreeNode& ours = side_of(before, winner->spec.project, victim.spec.project);
  const TreeNode& theirs = side_of(before, victim.spec.project, winner->spec.project);
  const Resources& asked = winner->spec.resources;
  int64_t each = gpu ? asked.gpu.share.milli * asked.gpu.count : asked.cpu.milli;  // 0 for an amount of memory
  if (auto guarantee = declared_guarantee(ours, key); guarantee && each * winner->spec.replicas.min > *guarantee)
    return fmt::format("{} takes back more than the guarantee of {}", to_text(winner->id), ours.name.text);
  auto guarantee = declared_guarantee(theirs, key);
  int64_t held = held_before(before, theirs.name, key, winner->id);
  if (!guarantee || held > *guarantee) return {};
  return fmt::format("{} is taken back from inside the guarantee of {}, which holds {} of {} {} in pool {}", name,
                     theirs.name.text, held, *guarantee, to_text(key.resource), key.pool.text);
}

}  // namespace moulin
