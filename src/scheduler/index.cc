#include "scheduler/index.h"

#include <algorithm>

namespace moulin {

namespace {

template <class Key>
void set_member(KeySet<Key>& set, const Key& key, Amounts::Sign sign) {
  if (sign == Amounts::Sign::kAdd)
    set.set(key, true);
  else
    MOULIN_CHECK(set.erase(key), "not in the set");
}

template <class Outer, class Key>
void set_member(CowMap<Outer, Cow<KeySet<Key>>>& sets, const Outer& outer, const Key& key, Amounts::Sign sign) {
  Cow<KeySet<Key>>* set = sets.find_mutable(outer);
  if (set == nullptr) set = &sets.set(outer, {});
  set_member(set->mutate(), key, sign);
  if (set->mutate().empty()) sets.erase(outer);
}

// Moves a workload from one optional place to another.
template <class Key, class Move>
void move_member(const std::optional<Key>& before, const std::optional<Key>& after, Move move) {
  if (before == after) return;
  if (before) move(*before, Amounts::Sign::kSubtract);
  if (after) move(*after, Amounts::Sign::kAdd);
}

std::optional<Hold> hold_of(const Attempt& attempt, const Replica& replica) {
  if (replica.state == ReplicaState::kExited) return std::nullopt;
  return attempt.state == AttemptState::kStopping || replica.end_asked ? Hold::kLeaving : Hold::kHeld;
}

bool may_grow(const Workload& workload) {
  return workload.state == WorkloadState::kRunning && counted_replicas(workload) < workload.spec.replicas.max;
}

const Attempt& attempt_of(const Workload& workload, AttemptNumber number) {
  auto found = std::ranges::find(workload.attempts, number, &Attempt::number);
  MOULIN_CHECK(found != workload.attempts.end(), "an attempt that holds something was dropped");
  return *found;
}

NodeMake make_of(const Node& node) {
  Node empty = node;
  for (Gpu& gpu : empty.gpus) {
    gpu.health = Health::kHealthy;
    gpu.foreign_processes = 0;
    gpu.foreign_memory = {};
  }
  return {.cpu = node.cpu, .memory = node.memory, .empty = shape_of(room_of(empty))};
}

bool is_impaired(const Node& node) {
  if (node.mode != NodeMode::kOpen || node.presence == Presence::kDown) return true;
  return std::ranges::any_of(node.gpus, [](const Gpu& gpu) { return gpu.health != Health::kHealthy; });
}

}  // namespace

int64_t counted_replicas(const Workload& workload) {
  bool replaces = workload.spec.kind == Kind::kService;
  return std::ranges::count_if(workload.attempts.back().replicas, [&](const Replica& replica) {
    return !replica.end_asked && (!replaces || replica.state != ReplicaState::kExited);
  });
}

Index Index::build(const State& state) {
  Index index;
  std::vector<const TreeNode*> tree;
  for (const auto& [name, node] : state.tree) tree.push_back(&*node);
  std::ranges::sort(tree, {}, &TreeNode::order);
  for (const TreeNode* node : tree) index.add_child(*node);
  for (const auto& [name, node] : state.nodes) index.refresh_node(state, name);
  for (const auto& [id, workload] : state.workloads) index.refresh_workload(state, id);
  return index;
}

void Index::apply(const State& after, const Event& event) {
  if (WorkloadId id = event_workload(event.body)) return refresh_workload(after, id);
  if (auto* registered = std::get_if<event::NodeRegistered>(&event.body))
    refresh_node(after, registered->node.name);
  else if (auto* mode = std::get_if<event::NodeModeChanged>(&event.body))
    refresh_node(after, mode->node);
  else if (auto* presence = std::get_if<event::NodePresenceChanged>(&event.body))
    refresh_node(after, presence->node);
  else if (auto* gpu = std::get_if<event::GpuChanged>(&event.body))
    refresh_node(after, gpu->node);
  else if (auto* removed = std::get_if<event::NodeRemoved>(&event.body))
    refresh_node(after, removed->node);
  else if (auto* created = std::get_if<event::TreeNodeCreated>(&event.body))
    add_child(created->node);
  else if (auto* gone = std::get_if<event::TreeNodeRemoved>(&event.body))
    remove_child(gone->name);
}

bool Index::equals(const Index& other) const {
  return room_ == other.room_ && unfinished_ == other.unfinished_ && waiting_ == other.waiting_ &&
         asked_ == other.asked_ && live_ == other.live_ && growing_ == other.growing_ && leaving_ == other.leaving_ &&
         claiming_ == other.claiming_ && staying_ == other.staying_ && holders_ == other.holders_ &&
         makes_ == other.makes_ && impaired_ == other.impaired_ && facts_ == other.facts_ &&
         capacity_ == other.capacity_ && children_ == other.children_ && tracked_ == other.tracked_;
}

const KeySet<Holder>* Index::holders(const NodeName& node) const {
  const Cow<KeySet<Holder>>* found = holders_.find(node);
  return found ? &**found : nullptr;
}

int64_t Index::unfinished(const TreeName& project) const {
  const int64_t* found = unfinished_.find(project);
  return found ? *found : 0;
}

int64_t Index::capacity(const QuotaKey& key) const {
  const int64_t* found = capacity_.find(key);
  return found ? *found : 0;
}

const std::vector<TreeName>* Index::children(const TreeName& name) const {
  const Cow<std::vector<TreeName>>* found = children_.find(name);
  return found ? &**found : nullptr;
}

// ---- Workloads ----

bool Index::Tracked::is_empty() const { return !unfinished && !claim; }

std::optional<Hold> Index::Tracked::hold(ReplicaIndex replica) const {
  auto found = std::ranges::lower_bound(replicas, replica, {}, &std::pair<ReplicaIndex, Hold>::first);
  if (found == replicas.end() || found->first != replica) return std::nullopt;
  return found->second;
}

Index::Tracked Index::wanted(const State& state, WorkloadId id) const {
  Tracked tracked;
  const Workload* workload = state.workload(id);
  if (workload == nullptr) return tracked;
  tracked.unfinished = !is_finished(workload->state);
  if (const Cow<Claim>* claim = state.claims.find(id)) tracked.claim = *claim;
  if (workload->state == WorkloadState::kWaiting) {
    tracked.wait = wait_key(*workload);
    if (workload->eligible_from == Instant{}) tracked.asks = moulin::asked(makes_, workload->spec);
  }
  const Attempt* attempt = workload->live();
  if (attempt == nullptr) return tracked;
  tracked.live = hold_key(*workload);
  tracked.stays = attempt->state != AttemptState::kStopping;
  tracked.grows = may_grow(*workload);
  tracked.attempt = attempt->number;
  for (const Replica& replica : attempt->replicas) {
    std::optional<Hold> hold = hold_of(*attempt, replica);
    if (hold) tracked.replicas.emplace_back(replica.index, *hold);
    tracked.leaves |= hold == Hold::kLeaving;
  }
  return tracked;
}

void Index::refresh_workload(const State& state, WorkloadId id) {
  static const Cow<Tracked> kNothing;
  const Cow<Tracked>* known = tracked_.find(id);
  Tracked after = wanted(state, id);
  if (*(known ? *known : kNothing) == after) return;
  Tracked before = *(known ? *known : kNothing);
  const Workload* workload = state.workload(id);
  MOULIN_CHECK(workload != nullptr, "forgotten while something of it is counted");
  refresh_queues(*workload, before, after);
  refresh_replicas(state, *workload, before, after);
  refresh_claim(state, *workload, before, after);
  if (after.is_empty())
    tracked_.erase(id);
  else
    tracked_.set(id, Cow<Tracked>(std::move(after)));
}

void Index::refresh_queues(const Workload& workload, const Tracked& before, const Tracked& after) {
  using Sign = Amounts::Sign;
  const TreeName& project = workload.spec.project;
  if (before.unfinished != after.unfinished) {
    int64_t count = unfinished(project) + (after.unfinished ? 1 : -1);
    if (count == 0)
      unfinished_.erase(project);
    else
      unfinished_.set(project, count);
  }
  move_member(before.wait, after.wait,
              [&](const WaitKey& key, Sign sign) { set_member(waiting_, project, key, sign); });
  move_member(before.live, after.live, [&](const HoldKey& key, Sign sign) { set_member(live_, project, key, sign); });
  auto growth = [](const Tracked& tracked) { return tracked.grows ? tracked.live : std::nullopt; };
  move_member(growth(before), growth(after), [&](const HoldKey& key, Sign sign) { set_member(growing_, key, sign); });
  if (before.leaves != after.leaves) set_member(leaving_, workload.id, after.leaves ? Sign::kAdd : Sign::kSubtract);
  if (before.claim.has_value() != after.claim.has_value())
    set_member(claiming_, workload.id, after.claim ? Sign::kAdd : Sign::kSubtract);
  if (before.asks != after.asks) {
    change_asked(project, before.asks, Sign::kSubtract);
    change_asked(project, after.asks, Sign::kAdd);
  }
  int64_t& staying = staying_[static_cast<size_t>(workload.spec.priority_class)];
  staying += int64_t{after.stays} - int64_t{before.stays};
}

void Index::change_asked(const TreeName& project, const std::vector<Holding>& asks, Amounts::Sign sign) {
  if (asks.empty()) return;
  Cow<Demand>* demand = asked_.find_mutable(project);
  if (demand == nullptr) demand = &asked_.set(project, {});
  Demand& changed = demand->mutate();
  for (const Holding& holding : asks) {
    Wide& amount = changed[holding.key];
    amount += sign == Amounts::Sign::kAdd ? holding.amount : -holding.amount;
    if (amount == 0) changed.erase(holding.key);
  }
  if (changed.empty()) asked_.erase(project);
}

Wide Index::asked_for(const TreeName& project, const QuotaKey& key) const {
  const Cow<Demand>* demand = asked_.find(project);
  if (demand == nullptr) return 0;
  auto found = (*demand)->find(key);
  return found == (*demand)->end() ? 0 : found->second;
}

// What they ask for depends on what the nodes are made like.
void Index::refresh_all_waiting(const State& state) {
  std::vector<WorkloadId> all;
  for (const auto& [project, queue] : waiting_) {
    for (const auto& [key, member] : *queue) all.push_back(key.id);
  }
  for (WorkloadId id : all) refresh_workload(state, id);
}

void Index::refresh_replicas(const State& state, const Workload& workload, const Tracked& before,
                             const Tracked& after) {
  TreePath path;
  // What is in `tracked` and not, just so, in `other`.
  auto change = [&](const Tracked& tracked, const Tracked& other, Amounts::Sign sign) {
    for (const auto& [index, hold] : tracked.replicas) {
      if (tracked.attempt == other.attempt && other.hold(index) == hold) continue;
      if (path.empty()) path = path_to_root(state, workload.spec.project);
      const Placement& placement = attempt_of(workload, tracked.attempt).replica(index)->placement;
      room_.change(sign, {path, workload.spec.priority_class, hold}, placement);
      set_member(holders_, placement.node, Holder{workload.id, tracked.attempt, index}, sign);
    }
  };
  change(before, after, Amounts::Sign::kSubtract);
  change(after, before, Amounts::Sign::kAdd);
}

void Index::refresh_claim(const State& state, const Workload& workload, const Tracked& before, const Tracked& after) {
  if (before.claim == after.claim) return;
  TreePath path = path_to_root(state, workload.spec.project);
  Account account{path, workload.spec.priority_class, Hold::kClaimed};
  auto change = [&](const std::optional<Cow<Claim>>& claim, Amounts::Sign sign) {
    if (!claim) return;
    for (const ReplicaPlacement& place : (*claim)->places) room_.change(sign, account, place.placement);
  };
  change(before.claim, Amounts::Sign::kSubtract);
  change(after.claim, Amounts::Sign::kAdd);
}

// ---- Nodes ----

void Index::refresh_node(const State& state, const NodeName& name) {
  const Node* now = state.node(name);
  const Cow<Node>* before = facts_.find(name);
  size_t makes_before = makes_.size();
  bool same_make = before != nullptr && now != nullptr && make_of(**before) == make_of(*now);
  if (before != nullptr) {
    occupy_node(state, name, Amounts::Sign::kSubtract);
    count_node(**before, Amounts::Sign::kSubtract);
    room_.erase_node(name);
    facts_.erase(name);
  }
  if (now != nullptr) {
    room_.set_node(*now);
    facts_.set(name, state.nodes.at(name));
    count_node(*now, Amounts::Sign::kAdd);
    occupy_node(state, name, Amounts::Sign::kAdd);
  }
  bool may_be_new_make = now != nullptr && makes_.at(make_of(*now)) == 1;
  if (!same_make && (may_be_new_make || makes_.size() != makes_before)) refresh_all_waiting(state);
}

void Index::count_node(const Node& node, Amounts::Sign sign) {
  int64_t direction = sign == Amounts::Sign::kAdd ? 1 : -1;
  NodeMake make = make_of(node);
  const int64_t* known = makes_.find(make);
  int64_t count = (known ? *known : 0) + direction;
  if (count == 0)
    makes_.erase(make);
  else
    makes_.set(make, count);
  if (is_impaired(node)) set_member(impaired_, node.name, sign);
  if (node.presence == Presence::kDown || node.mode == NodeMode::kDraining) return;
  auto add = [&](const QuotaKey& key, int64_t amount) {
    int64_t total = capacity(key) + amount * direction;
    if (total == 0)
      capacity_.erase(key);
    else
      capacity_.set(key, total);
  };
  for (const Gpu& gpu : node.gpus) {
    if (gpu.health != Health::kHealthy) continue;
    add({node.pool, Resource::kGpu, {}}, kWholeDevice.milli);
    add({node.pool, Resource::kGpu, gpu.model}, kWholeDevice.milli);
  }
  add({node.pool, Resource::kCpu, {}}, node.cpu.milli);
  add({node.pool, Resource::kMemory, {}}, node.memory.count);
}

void Index::occupy_node(const State& state, const NodeName& name, Amounts::Sign sign) {
  if (const KeySet<Holder>* holders = this->holders(name)) {
    for (const auto& [holder, member] : *holders) {
      const Workload& workload = *state.workload(holder.workload);
      TreePath path = path_to_root(state, workload.spec.project);
      Hold hold = *tracked_.at(holder.workload)->hold(holder.replica);
      Account account{path, workload.spec.priority_class, hold};
      room_.change(sign, account, attempt_of(workload, holder.attempt).replica(holder.replica)->placement);
    }
  }
  for (const auto& [owner, member] : claiming_) {
    const Workload& workload = *state.workload(owner);
    TreePath path = path_to_root(state, workload.spec.project);
    Account account{path, workload.spec.priority_class, Hold::kClaimed};
    for (const ReplicaPlacement& place : (*tracked_.at(owner)->claim)->places) {
      if (place.placement.node == name) room_.change(sign, account, place.placement);
    }
  }
}

// ---- The quota tree ----

void Index::add_child(const TreeNode& node) {
  if (node.parent.empty()) return;
  Cow<std::vector<TreeName>>* list = children_.find_mutable(node.parent);
  if (list == nullptr) list = &children_.set(node.parent, {});
  list->mutate().push_back(node.name);
}

void Index::remove_child(const TreeName& name) {
  for (const auto& [parent, list] : children_) {
    if (std::ranges::find(*list, name) == list->end()) continue;
    Cow<std::vector<TreeName>>& found = children_.at_mutable(TreeName(parent));
    std::erase(found.mutate(), name);
    if (found->empty()) children_.erase(TreeName(parent));
    return;
  }
}

}  // namespace moulin
