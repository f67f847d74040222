#include "scheduler/eviction/guarantee_line.h"

#include <algorithm>

#include "scheduler/limits.h"

namespace moulin {

namespace {

QuotaKey key_of(const Overlay& overlay, const Replica& replica) {
  const NodeRoom* node = overlay.room().node(replica.placement.node);
  return {.pool = node ? node->pool : kDefaultPool,
          .resource = replica.placement.grants.empty() ? Resource::kCpu : Resource::kGpu,
          .model = {}};
}

// 0 in another pool.
int64_t amount_of(const Overlay& overlay, const Placement& placement, const QuotaKey& key) {
  const NodeRoom* node = overlay.room().node(placement.node);
  if (node != nullptr && node->pool != key.pool) return 0;
  return key.resource == Resource::kGpu ? placement.gpu_total().milli : placement.cpu.milli;
}

}  // namespace

QuotaKey measured_in(const Overlay& overlay, const Workload& workload) {
  for (const Replica& replica : workload.attempts.back().replicas) {
    if (replica.state != ReplicaState::kExited) return key_of(overlay, replica);
  }
  return {};
}

GuaranteeLine::GuaranteeLine(const Overlay& overlay, const TreePath& path, const Departures& departures)
    : overlay_(overlay) {
  const Cow<KeySet<HoldKey>>* live = overlay.index().live().find(path.front()->name);
  if (live == nullptr) return;
  for (const auto& [hold, member] : **live) {
    const Workload& workload = *overlay.state().workload(hold.id);
    if (workload.state == WorkloadState::kStopping) continue;
    QuotaKey key = measured_in(overlay, workload);
    int64_t amount = 0;
    bool any = false;
    for (const Replica& replica : workload.attempts.back().replicas) {
      if (!stays(workload, replica, departures)) continue;
      any = true;
      amount += amount_of(overlay, replica.placement, key);
    }
    if (any) add(path, hold.id, {.key = key, .amount = amount});
  }
}

GuaranteeLine::GuaranteeLine(const Overlay& overlay, const TreePath& path,
                             const std::vector<const GuaranteeLine*>& below)
    : overlay_(overlay) {
  struct Place {
    bool beyond = false;  // the line of the child
    HoldKey hold{};
    const Entry* entry = nullptr;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> order;
  for (const GuaranteeLine* line : below) {
    for (const auto& [id, entry] : line->entries_)
      order.push_back({line->is_above(id, {}), hold_key(*overlay.state().workload(id)), &entry});
  }
  std::ranges::sort(order);
  for (const Place& place : order) add(path, place.hold.id, {.key = place.entry->key, .amount = place.entry->amount});
}

void GuaranteeLine::add(const TreePath& path, WorkloadId id, Entry entry) {
  int64_t& total = totals_[entry.key];
  total += entry.amount;
  entry.up_to = total;
  entry.place = entries_.size();
  entries_[id] = entry;
  if (!guaranteed_.contains(entry.key))
    guaranteed_[entry.key] = guaranteed(overlay_.state(), overlay_.index(), path, 0, entry.key);
}

int64_t GuaranteeLine::amount_before(const ReplicaRef& ref, const Entry& entry) const {
  auto other = entries_.find(ref.workload);
  if (other == entries_.end() || other->second.key != entry.key || other->second.place > entry.place) return 0;
  const Attempt& attempt = overlay_.state().workload(ref.workload)->attempts.back();
  return amount_of(overlay_, attempt.replica(ref.replica)->placement, entry.key);
}

void GuaranteeLine::depart(const ReplicaRef& ref) {
  auto own = entries_.find(ref.workload);
  if (own == entries_.end()) return;
  int64_t amount = amount_before(ref, own->second);
  for (auto& [id, entry] : entries_) entry.up_to -= amount_before(ref, entry);
  own->second.amount -= amount;
}

GuaranteeLine::Position GuaranteeLine::position(WorkloadId workload, const Departures& gone) const {
  const Entry& entry = entries_.at(workload);
  int64_t up_to = entry.up_to;
  for (const ReplicaRef& ref : gone) up_to -= amount_before(ref, entry);
  return {entry.key, guaranteed_.at(entry.key), up_to};
}

bool GuaranteeLine::is_above(WorkloadId workload, const Departures& gone) const {
  Position at = position(workload, gone);
  return at.up_to > at.guaranteed;
}

}  // namespace moulin
