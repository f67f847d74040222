// Everything Moulin knows at one point of the journal: a fold of its events.
//
// A copy costs a few pointers (cow_map.h), so a view for readers is a copy. Only
// core/apply.h changes a State.
#pragma once

#include <string>
#include <vector>

#include "base/cow_map.h"
#include "model/identity.h"
#include "model/node.h"
#include "model/plan.h"
#include "model/quota.h"
#include "model/workload.h"

namespace moulin {

// The name of an unfinished workload inside its project.
struct WorkloadName {
  TreeName project{};
  std::string name{};
  auto operator<=>(const WorkloadName&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "project", self.project);
    visit(2, "name", self.name);
  }
};

struct RequestKey {
  UserName user{};
  std::string key{};
  auto operator<=>(const RequestKey&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "user", self.user);
    visit(2, "key", self.key);
  }
};

struct RememberedRequest {
  std::string digest{};
  std::vector<WorkloadId> made{};
  Instant at{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "digest", self.digest);
    visit(2, "made", self.made);
    visit(3, "at", self.at);
  }
  bool operator==(const RememberedRequest&) const = default;
};

// How many stale reports were recorded in the minute that began then.
struct StaleRate {
  Instant since{};
  int64_t count = 0;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "since", self.since);
    visit(2, "count", self.count);
  }
};

struct State {
  Sequence sequence{};  // the newest event in it
  Instant now{};        // of that event; never goes back
  Epoch epoch{};        // 0: no server has begun
  std::string boot_id{};
  Duration wall_offset{};  // wall time since 1970 = Instant + this
  bool simulated = false;
  int64_t tree_order = 0;  // TreeNode::order of the next one

  CowMap<TreeName, Cow<TreeNode>> tree{};
  CowMap<UserName, Cow<User>> users{};
  CowMap<TokenId, Cow<Token>> tokens{};
  CowMap<Binding, bool> bindings{};  // the value is always true
  CowMap<NodeName, Cow<Node>> nodes{};
  CowMap<WorkloadId, Cow<Workload>> workloads{};  // unfinished, and finished not long ago
  CowMap<WorkloadName, WorkloadId> names{};       // of the unfinished
  CowMap<WorkloadId, Cow<Claim>> claims{};        // by owner
  CowMap<RequestKey, Cow<RememberedRequest>> requests{};
  StaleRate stale_rate{};

  const Workload* workload(WorkloadId id) const {
    const Cow<Workload>* found = workloads.find(id);
    return found ? &**found : nullptr;
  }
  const Node* node(const NodeName& name) const {
    const Cow<Node>* found = nodes.find(name);
    return found ? &**found : nullptr;
  }
  const TreeNode* tree_node(const TreeName& name) const {
    const Cow<TreeNode>* found = tree.find(name);
    return found ? &**found : nullptr;
  }

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "sequence", self.sequence);
    visit(2, "now", self.now);
    visit(3, "epoch", self.epoch);
    visit(4, "boot_id", self.boot_id);
    visit(5, "wall_offset", self.wall_offset);
    visit(6, "simulated", self.simulated);
    visit(7, "tree_order", self.tree_order);
    visit(8, "tree", self.tree);
    visit(9, "users", self.users);
    visit(10, "tokens", self.tokens);
    visit(11, "bindings", self.bindings);
    visit(12, "nodes", self.nodes);
    visit(13, "workloads", self.workloads);
    visit(14, "names", self.names);
    visit(15, "claims", self.claims);
    visit(16, "requests", self.requests);
    visit(17, "stale_rate", self.stale_rate);
  }
};

// The ancestors of a tree node from itself up to the root, at most kTreeDepthMax.
std::vector<const TreeNode*> path_to_root(const State& state, const TreeName& name);

}  // namespace moulin
