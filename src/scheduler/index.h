// What the scheduler keeps ready about a State, so that a decision need not look at all
// of it: free room by shape, who holds what, who waits in which order.
//
// A pure function of the State: build(state) and an index that followed the events to
// that state are equal. Copies are cheap and share structure; one thread may change an
// Index while others read their own copies.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/cow_map.h"
#include "base/wide.h"
#include "model/event.h"
#include "model/state.h"
#include "scheduler/home.h"
#include "scheduler/queue.h"
#include "scheduler/room.h"

namespace moulin {

// One replica that holds its place.
struct Holder {
  WorkloadId workload{};
  AttemptNumber attempt{};
  ReplicaIndex replica{};
  auto operator<=>(const Holder&) const = default;
};

template <class Key>
using KeySet = CowMap<Key, bool>;  // the value is always true
using WaitQueue = KeySet<WaitKey>;
using WaitQueues = CowMap<TreeName, Cow<WaitQueue>>;  // by project; none is empty

// Amounts that are asked for, by key; none is 0. So many workloads may ask that 64 bits are
// too few.
using Demand = std::map<QuotaKey, Wide>;

// Replicas of a live workload that count towards its maximum. A service replaces replicas
// that ended by themselves; those of a job have done their part.
int64_t counted_replicas(const Workload& workload);

class Index {
 public:
  static Index build(const State& state);

  // After core/apply.h changed the state by `event`. Cost: about the number of replicas
  // of the workload, or of those on the node, that the event is about.
  void apply(const State& after, const Event& event);

  bool equals(const Index& other) const;

  const Room& room() const { return room_; }

  // Waiting workloads by project, those in back-off too. No project has an empty queue.
  const WaitQueues& waiting() const { return waiting_; }

  // What those of them that are not in back-off ask for, by project: see home.h.
  const CowMap<TreeName, Cow<Demand>>& asked() const { return asked_; }
  Wide asked_for(const TreeName& project, const QuotaKey& key) const;

  // Workloads of the project that have not ended for good.
  int64_t unfinished(const TreeName& project) const;

  // Live workloads by project that hold something, the best protected first.
  const CowMap<TreeName, Cow<KeySet<HoldKey>>>& live() const { return live_; }
  // Of each class: how many are live and were not asked to end. An early "no" for evictions.
  int64_t staying(Class priority_class) const { return staying_[static_cast<size_t>(priority_class)]; }
  // Workloads of which something is leaving.
  const KeySet<WorkloadId>& leaving() const { return leaving_; }
  // Running workloads with fewer replicas than they may have, those in back-off too.
  const KeySet<HoldKey>& growing() const { return growing_; }

  // Replicas on a node, in order. nullptr: none.
  const KeySet<Holder>* holders(const NodeName& node) const;

  // Registered nodes, down ones too, by make: how many of each.
  const NodeMakes& makes() const { return makes_; }
  // Nodes that take nothing new, and those with a device that is not healthy.
  const KeySet<NodeName>& impaired() const { return impaired_; }
  // What healthy devices and nodes that are up and not draining offer in all.
  int64_t capacity(const QuotaKey& key) const;

  // Children of a tree node in order of creation. nullptr: none.
  const std::vector<TreeName>* children(const TreeName& name) const;

 private:
  // What the index has counted for one workload.
  struct Tracked {
    bool unfinished = false;
    std::optional<WaitKey> wait{};
    std::vector<Holding> asks{};  // while it waits and may start
    std::optional<HoldKey> live{};
    bool stays = false;  // live, and not asked to end
    bool grows = false;
    bool leaves = false;
    AttemptNumber attempt{};
    std::vector<std::pair<ReplicaIndex, Hold>> replicas{};  // of that attempt that hold something, in order
    std::optional<Cow<Claim>> claim{};
    std::optional<Hold> hold(ReplicaIndex replica) const;
    bool is_empty() const;
    bool operator==(const Tracked&) const = default;
  };

  Tracked wanted(const State& state, WorkloadId id) const;
  void refresh_workload(const State& state, WorkloadId id);
  void refresh_queues(const Workload& workload, const Tracked& before, const Tracked& after);
  void refresh_replicas(const State& state, const Workload& workload, const Tracked& before, const Tracked& after);
  void change_asked(const TreeName& project, const std::vector<Holding>& asks, Amounts::Sign sign);
  void refresh_all_waiting(const State& state);
  void refresh_claim(const State& state, const Workload& workload, const Tracked& before, const Tracked& after);
  void refresh_node(const State& state, const NodeName& name);
  void count_node(const Node& node, Amounts::Sign sign);
  void occupy_node(const State& state, const NodeName& name, Amounts::Sign sign);
  void add_child(const TreeNode& node);
  void remove_child(const TreeName& name);

  Room room_;
  CowMap<TreeName, int64_t> unfinished_;  // none is 0
  WaitQueues waiting_;
  CowMap<TreeName, Cow<Demand>> asked_;
  CowMap<TreeName, Cow<KeySet<HoldKey>>> live_;
  KeySet<HoldKey> growing_;
  KeySet<WorkloadId> leaving_;
  KeySet<WorkloadId> claiming_;  // owners of claims
  std::array<int64_t, kWords<Class>.size()> staying_{};
  CowMap<NodeName, Cow<KeySet<Holder>>> holders_;
  NodeMakes makes_;
  KeySet<NodeName> impaired_;
  CowMap<NodeName, Cow<Node>> facts_;  // of the nodes as they are counted
  CowMap<QuotaKey, int64_t> capacity_;
  CowMap<TreeName, Cow<std::vector<TreeName>>> children_;
  CowMap<WorkloadId, Cow<Tracked>> tracked_;
};

}  // namespace moulin
