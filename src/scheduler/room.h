// What is free on the nodes, and who holds how much: the part of the index that placing
// and removing a replica changes.
//
// A copy costs a few pointers; a change after a copy duplicates what it touches. One
// thread may change a Room while others read their own copies.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/cow_map.h"
#include "model/node.h"
#include "model/resources.h"
#include "model/state.h"
#include "scheduler/amounts.h"

namespace moulin {

// What one device offers to a newcomer. Ordered so that best fit takes the first that
// is large enough: devices with foreign processes last, then the smallest.
struct Offer {
  bool foreign = false;  // processes that are not ours use it: never given whole
  Share free{};
  Bytes free_memory{};  // 0 unless foreign: then the share alone decides
  Bytes usable{};       // memory of the whole device, for us
  ModelName model{};
  Isolation isolation = Isolation::kAdvisory;
  bool whole() const { return free == kWholeDevice && !foreign; }
  auto operator<=>(const Offer&) const = default;
};

struct DeviceRoom {
  int32_t slot = 0;
  ModelName model{};
  Bytes usable{};
  Isolation isolation = Isolation::kAdvisory;
  bool offered = true;  // healthy
  bool foreign = false;
  Share free{};         // below 0 while a claim waits for its victims
  Bytes free_memory{};  // less foreign memory; may be below 0
  bool operator==(const DeviceRoom&) const = default;
};

struct NodeRoom {
  PoolName pool{};
  bool open = true;     // takes new work: up, neither cordoned nor draining
  CpuMilli free_cpu{};  // may be below 0, as above
  Bytes free_memory{};
  std::vector<DeviceRoom> devices{};  // by slot
  const DeviceRoom* device(int32_t slot) const;
  bool operator==(const NodeRoom&) const = default;
};

// Equal offers of one node, counted.
struct OfferCount {
  Offer offer{};
  int64_t count = 0;
  auto operator<=>(const OfferCount&) const = default;
};

// The free shape of a node: what a decision about GPUs needs to know of it. Devices with
// nothing to offer are left out, so that few shapes describe many nodes.
struct FreeShape {
  PoolName pool{};
  std::vector<OfferCount> offers{};  // in order of Offer
  int64_t free_milli() const;
  auto operator<=>(const FreeShape&) const = default;
};

// The node as it is when nothing is placed on it.
NodeRoom room_of(const Node& node);
// Takes what the placement names, or gives it back; devices that are gone are passed over.
void take(NodeRoom& node, const Placement& placement);
void give_back(NodeRoom& node, const Placement& placement);

Offer offer_of(const DeviceRoom& device);
bool has_offer(const DeviceRoom& device);
FreeShape shape_of(const NodeRoom& node);

// A node inside its group.
struct Seat {
  CpuMilli free_cpu{};
  NodeName node{};
  auto operator<=>(const Seat&) const = default;
};
using Group = CowMap<Seat, Bytes>;  // the value is the free memory

// The nodes of one shape, with bounds that tell quickly who does not fit on any of them.
struct ShapeNodes {
  Cow<Group> group{};
  CpuMilli most_cpu{};  // free on one of them
  Share most_free{};    // on one device
  int64_t whole = 0;    // devices of a node that are whole
  bool may_hold(const Resources& resources) const;
  const Group& operator*() const { return *group; }
  const Group* operator->() const { return &*group; }
  bool operator==(const ShapeNodes&) const = default;
};

// The ancestors of a project from itself to the root, as path_to_root() gives them.
using TreePath = std::vector<const TreeNode*>;

// On whose account something is held.
struct Account {
  const TreePath& path;
  Class priority_class = Class::kTraining;
  Hold hold = Hold::kHeld;
};

class Room {
 public:
  // Requires that nothing is placed on the node; replaces or adds it.
  void set_node(const Node& node);
  void erase_node(const NodeName& name);

  // Places (kAdd) or removes a replica. What the placement names and the hardware no
  // longer has (node removed, device gone) is passed over, both ways.
  void change(Amounts::Sign sign, const Account& account, const Placement& placement);

  const NodeRoom* node(const NodeName& name) const;
  // Open nodes only.
  const CowMap<FreeShape, ShapeNodes>& groups() const { return groups_; }
  const CowMap<NodeName, Cow<NodeRoom>>& nodes() const { return nodes_; }
  Amount amount(const TreeName& at, const QuotaKey& key) const;
  const CowMap<TreeName, Cow<Amounts>>& amounts() const { return amounts_; }

  // True when the placement, which must not be counted already, has its place free: node
  // open, devices healthy and large enough.
  bool is_free(const Placement& placement) const;
  // Whether more is placed on something that the placement names than there is.
  bool is_overcommitted(const Placement& placement) const;

  bool operator==(const Room&) const = default;

 private:
  void change_amounts(Amounts::Sign sign, const Account& account, const std::vector<Holding>& holdings);
  void leave_group(const NodeName& name, const NodeRoom& node);
  void join_group(const NodeName& name, const NodeRoom& node);

  CowMap<NodeName, Cow<NodeRoom>> nodes_;
  CowMap<FreeShape, ShapeNodes> groups_;
  CowMap<TreeName, Cow<Amounts>> amounts_;
};

}  // namespace moulin
