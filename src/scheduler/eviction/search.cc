#include "scheduler/eviction/search.h"

#include <algorithm>

#include "scheduler/claims.h"
#include "scheduler/limits.h"
#include "scheduler/placement/count.h"
#include "scheduler/placement/place.h"

namespace moulin {

namespace {

bool is_leaving(const Workload& workload, const Replica& replica) {
  if (replica.state == ReplicaState::kExited) return false;
  return workload.state == WorkloadState::kStopping || replica.end_asked;
}

}  // namespace

EvictionSearch::EvictionSearch(Overlay& overlay, const Applicant& applicant, const Departures& departures)
    : overlay_(overlay), applicant_(applicant), start_(overlay.checkpoint()), roster_(overlay, applicant, departures) {
  if (roster_.size() > 0) imagine_leavers_gone(departures);
}

std::optional<Eviction> EvictionSearch::run() {
  if (roster_.size() == 0 || !might_succeed() || !solve()) {
    overlay_.rollback(start_);
    return std::nullopt;
  }
  roster_.settle();
  bring_leavers_back();
  return result();
}

// ---- What leaves already ----

void EvictionSearch::imagine_leavers_gone(const Departures& departures) {
  auto remember = [&](const Workload& workload, const Replica& replica) {
    leavers_.push_back({&workload, &replica});
    Account account{overlay_.path(workload.spec.project), workload.spec.priority_class, Hold::kLeaving};
    overlay_.remove(account, replica.placement);
  };
  for (const auto& [id, member] : overlay_.index().leaving()) {
    const Workload& workload = *overlay_.state().workload(id);
    for (const Replica& replica : workload.attempts.back().replicas) {
      if (is_leaving(workload, replica)) remember(workload, replica);
    }
  }
  for (const ReplicaRef& ref : departures) {
    const Workload& workload = *overlay_.state().workload(ref.workload);
    remember(workload, workload.attempts.back().replicas[static_cast<size_t>(ref.replica.value)]);
  }
}

void EvictionSearch::bring_leavers_back() {
  for (const Leaver& leaver : leavers_) {
    const WorkloadSpec& spec = leaver.workload->spec;
    overlay_.place({overlay_.path(spec.project), spec.priority_class, Hold::kLeaving}, leaver.replica->placement);
  }
}

// ---- The search ----

// A bound over nodes: never a false "no".
bool EvictionSearch::might_succeed() const {
  int64_t wanted = applicant_.spec.replicas.min;
  int64_t most = most_in_groups(overlay_.room(), applicant_.spec, wanted);
  if (most >= wanted) return true;
  for (const auto& [name, units] : roster_.by_node()) {
    most += replicas_without(roster_, *overlay_.room().node(name), applicant_.spec.resources, units, name);
    if (most >= wanted) return true;
  }
  return false;
}

bool EvictionSearch::solve() {
  if (by_nodes() && is_small_enough()) return true;
  start_over();
  if (!by_order(Roster::By::kCost)) return false;
  if (is_small_enough()) return true;
  start_over();
  return by_order(Roster::By::kSize) && is_small_enough();
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
  Options options;
  std::set<NodeName> nodes;
  for (const auto& [name, units] : roster_.by_node()) nodes.insert(name);
  refresh(options, nodes);
  while (std::ssize(places_) < applicant_.spec.replicas.min) {
    std::optional<Placement> place = find_place(overlay_, applicant_, Hold::kClaimed);
    if (!place && make_room(options)) place = find_place(overlay_, applicant_, Hold::kClaimed);
    if (!place) return false;
    overlay_.place(applicant_.account(Hold::kClaimed), *place);
    refresh(options, {place->node});
    places_.push_back({{static_cast<int32_t>(places_.size())}, *std::move(place)});
  }
  return true;
}

// Lets go whom the cheapest option names. An option that no longer holds, because those
// that left before have brought its units under a protection, is passed over.
bool EvictionSearch::make_room(Options& options) {
  while (!options.empty()) {
    NodeOption option = std::move(options.begin()->second);
    options.erase(options.begin());
    std::set<NodeName> changed;
    bool all = true;
    for (UnitIndex index : option.units) {
      bool left = roster_.leave(index);
      all = all && left;
      for (const Replica* replica : roster_.freed(index)) changed.insert(replica->placement.node);
    }
    refresh(options, changed);
    if (all) return true;
  }
  return false;
}

void EvictionSearch::refresh(Options& options, const std::set<NodeName>& nodes) {
  bool all = options.empty();
  if (!all) std::erase_if(options, [&](const auto& entry) { return nodes.contains(entry.first.second); });
  for (const NodeName& name : nodes) {
    auto units = roster_.by_node().find(name);
    if (units == roster_.by_node().end()) continue;
    overlay_.touch(1);
    const NodeRoom& node = *overlay_.room().node(name);
    auto option = cheapest_option(roster_, node, applicant_.spec.resources, units->second, name);
    if (option && !option->units.empty()) options.insert({{option->cost, name}, *std::move(option)});
  }
}

// The shortest prefix of that order with which the applicant starts. Longer prefixes
// leave more room, so the first that does is found by doubling and halving.
bool EvictionSearch::by_order(Roster::By by) {
  std::vector<UnitIndex> order = roster_.sorted(by);
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
  for (UnitIndex index : left) {
    if (would_stay(index)) roster_.stay(index);
  }
}

// With the places of the applicant taken, the unit still fits where it was, and no limit
// is broken by both.
bool EvictionSearch::would_stay(UnitIndex index) {
  Overlay::Mark mark = overlay_.checkpoint();
  const WorkloadSpec& spec = roster_.unit(index).workload->spec;
  Account account{overlay_.path(spec.project), spec.priority_class, Hold::kHeld};
  bool fits = true;
  for (const Replica* replica : roster_.freed(index)) {
    fits = fits && overlay_.room().can_stay(replica->placement);
    overlay_.place(account, replica->placement);
  }
  fits = fits && keeps_limits(overlay_, applicant_, places_);
  overlay_.rollback(mark);
  return fits;
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
    for (const Replica* replica : roster_.freed(index)) {
      gpu_ended += replica->placement.gpu_total();
      cpu_ended += replica->placement.cpu;
    }
  }
  if (gpu_asked.milli > 0) return gpu_ended <= gpu_asked * kDisruptionMost;
  return cpu_ended <= cpu_asked * kDisruptionMost;
}

Eviction EvictionSearch::result() const { return {.items = items(), .claim = claim()}; }

std::vector<EvictItem> EvictionSearch::items() const {
  std::vector<EvictItem> items;
  for (UnitIndex index : roster_.left()) {
    const Unit& unit = roster_.unit(index);
    auto same = [&](const EvictItem& item) { return item.victim == unit.workload->id; };
    auto known = std::ranges::find_if(items, same);
    if (known == items.end()) {
      items.push_back({.victim = unit.workload->id, .replicas = {}, .cause = unit.cause, .beneficiary = applicant_.id});
      known = items.end() - 1;
    }
    if (!unit.whole) known->replicas.push_back(unit.replicas.front()->index);
  }
  std::ranges::sort(items, {}, &EvictItem::victim);
  for (EvictItem& item : items) std::ranges::sort(item.replicas);
  return items;
}

Claim EvictionSearch::claim() const {
  Claim claim{.owner = applicant_.id, .places = places_, .victims = {}, .made = overlay_.now()};
  std::set<NodeName> nodes;
  for (const ReplicaPlacement& place : places_) nodes.insert(place.placement.node);
  std::set<WorkloadId> victims;
  Duration grace{};
  auto add = [&](const Workload& workload) {
    victims.insert(workload.id);
    grace = std::max(grace, workload.spec.grace);
  };
  for (UnitIndex index : roster_.left()) add(*roster_.unit(index).workload);
  for (const Leaver& leaver : leavers_) {
    if (nodes.contains(leaver.replica->placement.node)) add(*leaver.workload);
  }
  claim.victims.assign(victims.begin(), victims.end());
  claim.expires = overlay_.now() + grace + kClaimSpare;
  return claim;
}

}  // namespace moulin
