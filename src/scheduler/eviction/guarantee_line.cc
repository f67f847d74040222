#include "scheduler/eviction/guarantee_line.h"

#include "scheduler/limits.h"

namespace moulin {

namespace {

QuotaKey key_of(const Overlay& overlay, const Replica& replica) {
  const NodeRoom* node = overlay.room().node(replica.placement.node);
  return {.pool = node ? node->pool : kDefaultPool,
          .resource = replica.placement.grants.empty() ? Resource::kCpu : Resource::kGpu,
          .model = {}};
}

int64_t amount_of(const Placement& placement, Resource resource) {
  return resource == Resource::kGpu ? placement.gpu_total().milli : placement.cpu.milli;
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
  std::map<QuotaKey, int64_t> totals;
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
      amount += amount_of(replica.placement, key.resource);
    }
    if (!any) continue;
    int64_t& total = totals[key];
    total += amount;
    entries_[hold.id] = {.key = key, .up_to = total, .place = entries_.size()};
    if (!guaranteed_.contains(key)) guaranteed_[key] = guaranteed(overlay.state(), overlay.index(), path, 0, key);
  }
}

int64_t GuaranteeLine::amount_before(const ReplicaRef& ref, const Entry& entry) const {
  auto other = entries_.find(ref.workload);
  if (other == entries_.end() || other->second.key != entry.key || other->second.place > entry.place) return 0;
  const Attempt& attempt = overlay_.state().workload(ref.workload)->attempts.back();
  return amount_of(attempt.replica(ref.replica)->placement, entry.key.resource);
}

void GuaranteeLine::depart(const ReplicaRef& ref) {
  for (auto& [id, entry] : entries_) entry.up_to -= amount_before(ref, entry);
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
