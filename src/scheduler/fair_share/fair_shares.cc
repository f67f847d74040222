#include "scheduler/fair_share/fair_shares.h"

#include <algorithm>
#include <set>

#include "scheduler/fair_share/divide.h"
#include "scheduler/limits.h"

namespace moulin {

namespace {

// What whole devices are given in; a policy of the pool will say otherwise.
int64_t unit_of(const QuotaKey& key) { return key.resource == Resource::kGpu ? kWholeDevice.milli : 1; }

const Quota& quota_of(const TreeNode& node, const QuotaKey& key) {
  static const Quota kDefault;
  auto found = node.quotas.find(key);
  return found == node.quotas.end() ? kDefault : found->second;
}

// The quota tree as it is walked for each key: parents before their children, children in
// order of creation.
struct Place {
  TreePath path{};  // to the root
  size_t parent = 0;
  std::vector<size_t> children{};
  const TreeNode& node() const { return *path.front(); }
};

class Tree {
 public:
  Tree(const State& state, const Index& index, const Room& room) : state_(state), index_(index), room_(room) {
    by_order_.resize(static_cast<size_t>(state.tree_order));
    if (const TreeNode* root = state.tree_node(kRootTree)) add({.path = {root}});
    for (size_t i = 0; i < places_.size(); ++i) {
      const std::vector<TreeName>* children = index.children(places_[i].node().name);
      if (children == nullptr) continue;
      for (const TreeName& name : *children) {
        Place place{.path = {state.tree_node(name)}, .parent = i};
        place.path.insert(place.path.end(), places_[i].path.begin(), places_[i].path.end());
        places_[i].children.push_back(places_.size());
        add(std::move(place));
      }
    }
  }

  // By TreeNode::order.
  std::vector<int64_t> divide(const QuotaKey& key) const {
    std::vector<int64_t> shares(by_order_.size());
    if (places_.empty()) return shares;
    std::vector<int64_t> demands = this->demands(key);
    auto share_of = [&](size_t place) -> int64_t& { return shares[static_cast<size_t>(places_[place].node().order)]; };
    share_of(0) = index_.capacity(key);
    for (size_t i = 0; i < places_.size(); ++i) divide_below(i, key, demands, share_of);
    return shares;
  }

 private:
  void add(Place place) {
    by_order_[static_cast<size_t>(place.node().order)] = places_.size();
    places_.push_back(std::move(place));
  }

  // Of each place, what runs and what waits below it; at most its limit.
  std::vector<int64_t> demands(const QuotaKey& key) const {
    std::vector<Wide> wanted(places_.size());
    auto of_project = [&](const TreeName& name) -> Wide* {
      const TreeNode* node = state_.tree_node(name);
      bool is_project = node != nullptr && node->kind == TreeKind::kProject;
      return is_project ? &wanted[by_order_[static_cast<size_t>(node->order)]] : nullptr;
    };
    for (const auto& [name, amounts] : room_.amounts()) {
      if (Wide* amount = of_project(name)) *amount += amounts->of(key).after;
    }
    for (const auto& [name, demand] : index_.asked()) {
      auto asked = demand->find(key);
      if (asked != demand->end()) *of_project(name) += asked->second;
    }
    std::vector<int64_t> demands(places_.size());
    for (size_t i = places_.size(); i-- > 0;) {
      Wide most = quota_of(places_[i].node(), key).limit.value_or(kQuotaAmountMax);
      demands[i] = static_cast<int64_t>(std::min(wanted[i], most));
      if (i > 0) wanted[places_[i].parent] += demands[i];
    }
    return demands;
  }

  template <class ShareOf>
  void divide_below(size_t parent, const QuotaKey& key, const std::vector<int64_t>& demands, ShareOf share_of) const {
    std::vector<size_t> wanting;
    std::vector<Contender> contenders;
    for (size_t child : places_[parent].children) {
      if (demands[child] == 0) continue;
      const Quota& quota = quota_of(places_[child].node(), key);
      wanting.push_back(child);
      contenders.push_back({.guaranteed = guaranteed(state_, index_, places_[child].path, 0, key),
                            .demand = demands[child],
                            .weight = quota.weight,
                            .rank = quota.rank});
    }
    if (wanting.empty()) return;
    std::vector<int64_t> shares = moulin::divide({.total = share_of(parent), .unit = unit_of(key)}, contenders);
    for (size_t i = 0; i < wanting.size(); ++i) share_of(wanting[i]) = shares[i];
  }

  const State& state_;
  const Index& index_;
  const Room& room_;
  std::vector<Place> places_;
  std::vector<size_t> by_order_;  // place of a tree node
};

}  // namespace

FairShares FairShares::of(const State& state, const Index& index, const Room& room) {
  FairShares fair;
  std::set<QuotaKey> keys;  // what nobody waits for needs no order
  for (const auto& [project, demand] : index.asked()) {
    for (const auto& [key, amount] : *demand) keys.insert(key);
  }
  if (keys.empty()) return fair;
  Tree tree(state, index, room);
  for (const QuotaKey& key : keys) fair.keys_.push_back({key, tree.divide(key)});
  return fair;
}

int64_t FairShares::share(const TreeNode& at, const QuotaKey& key) const {
  auto found = std::ranges::find(keys_, key, &OfKey::key);
  return found == keys_.end() ? 0 : found->shares[static_cast<size_t>(at.order)];
}

}  // namespace moulin
