#include "scheduler/eviction/search.h"

#include <algorithm>
#include <functional>

#include "scheduler/claims.h"
#include "scheduler/limits.h"
#include "scheduler/placement/count.h"
#include "scheduler/placement/place.h"
#include "scheduler/tree_bounds.h"

namespace moulin {

EvictionSearch::EvictionSearch(Overlay& overlay, const Applicant& applicant, UnitStock& stock)
    : overlay_(overlay),
      applicant_(applicant),
      stock_(stock),
      start_(overlay.checkpoint()),
      roster_(overlay, applicant, stock) {}

std::optional<Eviction> EvictionSearch::run() {
  bool no_cause = !may_evict_anybody(overlay_.index(), applicant_, roster_.rights(), stock_.lines());
  if (no_cause || lacks_guarantee() || !solve()) {
    overlay_.rollback(start_);
    return std::nullopt;
  }
  Eviction eviction{.items = items(), .claim = claim()};
  roster_.settle();
  return eviction;
}

const NodeRoom& EvictionSearch::room_of(NodeIndex index) const {
  return *overlay_.room().node(stock_.node(index).name);
}

// Production is measured in production alone, which no eviction changes.
bool EvictionSearch::lacks_guarantee() const {
  if (applicant_.spec.priority_class != Class::kProduction) return false;
  for (size_t level = 0; level < applicant_.path.size(); ++level) {
    auto blocking = blocking_bounds(overlay_.view(), overlay_.room(), applicant_, level, BoundKind::kGuarantee);
    if (!blocking.empty()) return true;
  }
  return false;
}

// ---- The search ----

// A bound over nodes: never a false "no".
bool EvictionSearch::might_succeed() const {
  int64_t wanted = applicant_.spec.replicas.min;
  int64_t most = most_in_groups(overlay_.room(), applicant_.spec, wanted);
  for (const NodeStock& node : stock_.nodes()) {
    if (most >= wanted) return true;
    const NodeRoom& room = *overlay_.room().node(node.name);
    if (may_use_pool(applicant_.spec, room.pool))
      most += replicas_without(roster_, applicant_.spec.resources, node, room);
  }
  return most >= wanted;
}

bool EvictionSearch::solve() {
  if (by_nodes() && is_small_enough()) return true;
  start_over();
  if (!might_succeed() || !by_order(UnitStock::By::kCost)) return false;
  if (is_small_enough()) return true;
  start_over();
  return by_order(UnitStock::By::kSize) && is_small_enough();
}

bool EvictionSearch::is_small_enough() {
  drop_superfluous();
  bool small = is_within_bound();
  too_disruptive_ |= !small;
  return small;
}

void EvictionSearch::start_over() {
  take_places_back();
  roster_.all_stay();
}

bool EvictionSearch::by_nodes() {
  weigh_nodes();
  while (std::ssize(places_) < applicant_.spec.replicas.min) {
    std::optional<Placement> place = find_place(overlay_, applicant_, Hold::kClaimed);
    if (!place && make_room()) place = find_place(overlay_, applicant_, Hold::kClaimed);
    if (!place) return false;
    overlay_.place(applicant_.account(Hold::kClaimed), *place);
    weigh_again(place->node);
    places_.push_back({{static_cast<int32_t>(places_.size())}, *std::move(place)});
  }
  return true;
}

// Lets go whom the cheapest option names. An option that no longer holds, because those
// that left before have brought its units under a protection, is passed over.
bool EvictionSearch::make_room() {
  for (weigh_the_promising(); !options_.empty(); weigh_the_promising()) {
    NodeOption option = std::move(options_.begin()->second);
    weighed_.erase(options_.begin()->first.second);
    options_.erase(options_.begin());
    std::set<NodeName> changed;
    bool all = true;
    for (UnitIndex index : option.units) {
      bool left = roster_.leave(index);
      all = all && left;
      for (const Replica* replica : roster_.freed(index)) changed.insert(replica->placement.node);
    }
    for (const NodeName& name : changed) weigh_again(name);
    if (all) return true;
  }
  return false;
}

// Each node promises that making room on it costs no less than a bound. Only those that
// promise less than what is known are looked at.
void EvictionSearch::weigh_nodes() {
  options_.clear();
  weighed_.clear();
  promises_.clear();
  for (size_t i = 0; i < stock_.nodes().size(); ++i) {
    NodeIndex index{i};
    const NodeRoom& room = room_of(index);
    if (!may_use_pool(applicant_.spec, room.pool)) continue;
    promises_.push_back({cost_bound(stock_, applicant_.spec.resources, stock_.node(index), room), index});
  }
  std::ranges::sort(promises_, std::greater<>());
}

void EvictionSearch::weigh_the_promising() {
  while (!promises_.empty() && (options_.empty() || promises_.back() < options_.begin()->first)) {
    NodeIndex index = promises_.back().second;
    promises_.pop_back();
    if (!weighed_.contains(index)) weigh(index);
  }
}

void EvictionSearch::weigh(NodeIndex index) {
  overlay_.touch(1);
  auto option = cheapest_option(roster_, applicant_.spec.resources, stock_.node(index), room_of(index));
  if (!option || option->units.empty()) return;
  weighed_[index] = option->cost;
  options_.insert({{option->cost, index}, *std::move(option)});
}

void EvictionSearch::weigh_again(const NodeName& name) {
  std::optional<NodeIndex> index = stock_.find(name);
  if (!index || !may_use_pool(applicant_.spec, room_of(*index).pool)) return;
  auto known = weighed_.find(*index);
  if (known != weighed_.end()) {
    options_.erase({known->second, *index});
    weighed_.erase(known);
  }
  weigh(*index);
}

// The shortest prefix of that order with which the applicant starts. Longer prefixes
// leave more room, so the first that does is found by doubling and halving.
bool EvictionSearch::by_order(UnitStock::By by) {
  std::vector<UnitIndex> order = stock_.sorted(by);
  auto works = [&](size_t count) {
    leave_first(order, count);
    bool placed = place_all();
    start_over();
    return placed;
  };
  if (!works(order.size())) return false;
  size_t low = 0;  // does not work, or was not tried
  size_t high = 1;
  while (high < order.size() && !works(high)) {
    low = high;
    high = std::min(high * 2, order.size());
  }
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    (works(middle) ? high : low) = middle;
  }
  leave_first(order, high);
  return place_all();
}

void EvictionSearch::leave_first(const std::vector<UnitIndex>& order, size_t count) {
  for (size_t i = 0; i < count; ++i) roster_.leave(order[i]);
}

bool EvictionSearch::place_all() {
  auto placed = place_gang(overlay_, applicant_, Hold::kClaimed, {.first = 0, .count = applicant_.spec.replicas.min});
  if (placed) places_ = *std::move(placed);
  return placed.has_value();
}

void EvictionSearch::take_places_back() {
  for (const ReplicaPlacement& place : places_) overlay_.remove(applicant_.account(Hold::kClaimed), place.placement);
  places_.clear();
}

// ---- The result ----

void EvictionSearch::drop_superfluous() {
  std::vector<UnitIndex> left = roster_.left();
  std::ranges::sort(left, [&](UnitIndex a, UnitIndex b) { return roster_.unit(b).cost < roster_.unit(a).cost; });
  bool small = std::ssize(left) <= kReplacedMost && std::ssize(places_) <= kReplacedMost;
  for (UnitIndex index : left) {
    if (stays_beside(index)) continue;
    if (small) stays_elsewhere(index);
  }
}

// With the places of the applicant taken, the unit still fits where it was, and no limit
// is broken by both.
bool EvictionSearch::stays_beside(UnitIndex index) {
  std::vector<const Replica*> freed = roster_.freed(index);
  roster_.stay(index);
  // Placed again, its own room is gone: enough is left when nothing is below 0 now.
  bool fits = std::ranges::all_of(
      freed, [&](const Replica* replica) { return !overlay_.room().is_overcommitted(replica->placement); });
  if (fits && keeps_limits(overlay_, applicant_, places_)) return true;
  roster_.leave_again(index);
  return false;
}

// The applicant finds other places without what the unit frees.
bool EvictionSearch::stays_elsewhere(UnitIndex index) {
  std::vector<ReplicaPlacement> before = places_;
  take_places_back();
  roster_.stay(index);
  if (place_all()) return true;
  roster_.leave_again(index);
  for (const ReplicaPlacement& place : before) overlay_.place(applicant_.account(Hold::kClaimed), place.placement);
  places_ = std::move(before);
  return false;
}

bool EvictionSearch::is_within_bound() const {
  if (applicant_.spec.priority_class == Class::kProduction) return true;
  Share gpu_asked{};
  CpuMilli cpu_asked{};
  for (const ReplicaPlacement& place : places_) {
    gpu_asked += place.placement.gpu_total();
    cpu_asked += place.placement.cpu;
  }
  Share gpu_ended{};
  CpuMilli cpu_ended{};
  for (UnitIndex index : roster_.left()) {
    if (roster_.unit(index).kind == UnitKind::kLeaving) continue;
    if (roster_.cause(index) == Cause::kGuaranteeReclaim) continue;
    for (const Replica* replica : roster_.freed(index)) {
      gpu_ended += replica->placement.gpu_total();
      cpu_ended += replica->placement.cpu;
    }
  }
  if (gpu_asked.milli > 0) return gpu_ended <= gpu_asked * kDisruptionMost;
  return cpu_ended <= cpu_asked * kDisruptionMost;
}

std::vector<EvictItem> EvictionSearch::items() const {
  std::map<WorkloadId, EvictItem> items;
  for (UnitIndex index : roster_.left()) {
    const Unit& unit = roster_.unit(index);
    if (unit.kind == UnitKind::kLeaving) continue;
    EvictItem& item = items[unit.workload->id];
    item.victim = unit.workload->id;
    item.cause = roster_.cause(index);
    item.beneficiary = applicant_.id;
    if (unit.kind == UnitKind::kSurplus) item.replicas.push_back(unit.replicas.front()->index);
  }
  std::vector<EvictItem> list;
  for (auto& [victim, item] : items) {
    std::ranges::sort(item.replicas);
    list.push_back(std::move(item));
  }
  return list;
}

// What leaves already was asked to before: a claim on it alone is not renewed for ever.
Instant EvictionSearch::left_by(const Unit& unit) const {
  Instant last{};
  for (const Replica* replica : unit.replicas) {
    Instant leaves_by = std::max(replica->leaves_by, unit.workload->attempts.back().leaves_by);
    // Asked in this very pass, or by a version that did not note it.
    if (leaves_by == Instant{}) leaves_by = overlay_.now() + unit.workload->spec.grace;
    last = std::max(last, leaves_by);
  }
  return last;
}

Claim EvictionSearch::claim() const {
  Claim claim{.owner = applicant_.id, .places = places_, .victims = {}, .made = overlay_.now()};
  std::set<WorkloadId> victims;
  Instant last = overlay_.now();
  for (UnitIndex index : roster_.left()) {
    const Unit& unit = roster_.unit(index);
    victims.insert(unit.workload->id);
    if (unit.kind == UnitKind::kLeaving) {
      last = std::max(last, left_by(unit));
    } else {
      last = std::max(last, overlay_.now() + unit.workload->spec.grace);
    }
  }
  claim.victims.assign(victims.begin(), victims.end());
  claim.expires = last + kClaimSpare;
  return claim;
}

}  // namespace moulin
