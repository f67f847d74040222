#include "scheduler/pass.h"

#include <algorithm>

#include "scheduler/claims.h"
#include "scheduler/eviction/drain.h"
#include "scheduler/explain/reasons.h"
#include "scheduler/grow.h"
#include "scheduler/placement/place.h"

namespace moulin {

namespace {

// What examining a workload costs, in shapes or nodes looked at.
constexpr int64_t kWorkloadTouches = 30;
constexpr int64_t kProjectsAtOnce = 20;  // a project costs the same

}  // namespace

Pass::Pass(Overlay& overlay, const PassBudget& budget, RoundMemory& memory)
    : view_(overlay.view()), budget_(budget), overlay_(overlay), memory_(memory) {
  plan_.seen = view_.state.sequence;
}

Plan Pass::run() {
  serve_all();
  if (plan_.complete) grow();
  plan_.counts.candidates_touched = overlay_.touched();
  return std::move(plan_);
}

bool Pass::is_spent() const {
  return overlay_.touched() >= budget_.candidates_max || std::ssize(plan_.starts) >= budget_.starts_max ||
         std::ssize(plan_.evictions) >= budget_.evictions_max;
}

void Pass::drain() {
  for (WorkloadId id : drained_workloads(view_.index)) {
    const Workload& workload = *view_.state.workload(id);
    if (workload.state == WorkloadState::kStopping || overlay_.claim_of(id) != nullptr) continue;
    if (auto eviction = plan_drain(overlay_, workload, stock().departures())) adopt(*eviction);
  }
}

void Pass::put_in_order() {
  while (!memory_.is_ordered && !is_spent()) {
    memory_.is_ordered = memory_.order.add_projects(kProjectsAtOnce);
    overlay_.touch(kProjectsAtOnce * kWorkloadTouches);
  }
}

void Pass::serve_all() {
  while (memory_.is_ordered && !is_spent() && !memory_.needs_everybody) {
    std::optional<WorkloadId> next = memory_.order.next();
    if (!next) return;
    serve(*next);
  }
  plan_.complete = false;
}

// A workload that was evicted waits until the one that it was evicted for has had its turn.
bool Pass::must_wait_for(const Workload& evictor) const {
  return evictor.state == WorkloadState::kWaiting && evictor.eligible_from <= view_.now && memory_.comes_later(evictor);
}

void Pass::serve(WorkloadId id) {
  const Workload& workload = *view_.state.workload(id);
  const Workload* evictor = workload.evicted_by ? view_.state.workload(workload.evicted_by) : nullptr;
  bool for_itself = workload.evicted_by == id;  // moved off a node that drained
  if (evictor != nullptr && !for_itself && must_wait_for(*evictor)) {
    memory_.parked[evictor->id].push_back(id);
    return;
  }
  serve_one(workload);
  memory_.served.insert(id);
  auto parked = memory_.parked.extract(id);
  if (parked.empty()) return;
  for (WorkloadId behind : parked.mapped()) serve(behind);
}

void Pass::serve_one(const Workload& workload) {
  ++plan_.counts.workloads_examined;
  overlay_.touch(kWorkloadTouches);
  const TreeName& project = workload.spec.project;
  Applicant applicant{workload.spec, overlay_.path(project), workload.id};
  bool has_claim = overlay_.claim_of(workload.id) != nullptr;
  auto known = memory_.refused.by_kind.find(workload);
  if (!has_claim && known != memory_.refused.by_kind.end()) return refuse(workload, known->second);
  if (start(applicant)) {
    note_start(workload);
    if (has_claim) note_claim_used();
    return memory_.order.refresh(project);
  }
  if (has_claim || evict(applicant)) {
    memory_.needs_everybody |= !has_claim && is_one_of_several();
    return refuse(workload, {.reasons = {ReasonCode::kNoCapacity}});
  }
  Refusals::Refusal refusal{.reasons = blockers(applicant, workload), .lasts = !may_evict_};
  memory_.refused.by_kind.emplace(view_.state.workloads.at(workload.id), refusal);
  refuse(workload, std::move(refusal));
}

// Whether others of another project could be served before, were everybody looked at.
bool Pass::is_one_of_several() const { return memory_.only && memory_.only->size() > 1; }

// What it had claimed elsewhere is free.
void Pass::note_claim_used() {
  memory_.refused.by_kind.clear();
  memory_.needs_everybody |= memory_.only.has_value();
}

void Pass::note_start(const Workload& workload) {
  if (!memory_.only) return;
  auto first = memory_.refused.first.find(workload.spec.project);
  bool was_first = first != memory_.refused.first.end() && first->second.id == workload.id;
  memory_.needs_everybody |= was_first || is_one_of_several();
}

std::vector<ReasonCode> Pass::blockers(const Applicant& applicant, const Workload& workload) {
  Inquiry inquiry{overlay_, applicant, &workload, stock()};
  inquiry.too_disruptive = too_disruptive_;
  inquiry.detail = Detail::kCodes;
  return codes_of(find_reasons(inquiry));
}

bool Pass::start(const Applicant& applicant) {
  Overlay::Mark mark = overlay_.checkpoint();
  overlay_.release_claim(applicant.id);
  auto placed = place_gang(overlay_, applicant, Hold::kHeld, {.first = 0, .count = applicant.spec.replicas.min});
  if (!placed) {
    overlay_.rollback(mark);
    return false;
  }
  plan_.starts.push_back({.workload = applicant.id, .replicas = *std::move(placed)});
  return true;
}

bool Pass::evict(const Applicant& applicant) {
  too_disruptive_ = false;
  ReclaimRights rights(overlay_, applicant);
  may_evict_ = may_evict_anybody(view_.index, applicant, rights, stock().lines());
  if (!may_evict_) return false;
  EvictionSearch search(overlay_, applicant, stock());
  ++plan_.counts.evictions_tried;
  std::optional<Eviction> eviction = search.run();
  too_disruptive_ = search.was_too_disruptive();
  if (!eviction) return false;
  adopt(*eviction);
  return true;
}

void Pass::adopt(const Eviction& eviction) {
  Departures gone;
  for (const EvictItem& item : eviction.items) {
    const Workload& victim = *view_.state.workload(item.victim);
    for (const Replica& replica : victim.attempts.back().replicas) {
      bool named = item.replicas.empty() || std::ranges::find(item.replicas, replica.index) != item.replicas.end();
      if (named && stays(victim, replica, stock().departures())) gone.insert({victim.id, replica.index});
    }
    plan_.evictions.push_back(item);
  }
  stock().depart(gone);
  for (const EvictItem& item : eviction.items) memory_.order.refresh(view_.state.workload(item.victim)->spec.project);
  if (!eviction.claim.owner) return;
  plan_.claims.push_back(eviction.claim);
  memory_.order.refresh(view_.state.workload(eviction.claim.owner)->spec.project);
}

UnitStock& Pass::stock() {
  if (!stock_) stock_.emplace(overlay_);
  return *stock_;
}

void Pass::refuse(const Workload& workload, Refusals::Refusal refusal) {
  if (!refusal.lasts) memory_.undecided.push_back(workload.id);
  wait(workload, std::move(refusal.reasons));
}

void Pass::wait(const Workload& workload, std::vector<ReasonCode> reasons) {
  // Served in order, so whoever of the project was left waiting before is ahead.
  WaitKey key = wait_key(workload);
  const WaitKey& first = memory_.refused.first.emplace(workload.spec.project, key).first->second;
  bool behind = first.id != workload.id;
  memory_.needs_everybody |= memory_.only && is_served_before(key, first, view_.now);
  if (behind) reasons.insert(std::ranges::upper_bound(reasons, ReasonCode::kBehind), ReasonCode::kBehind);
  plan_.waits.push_back({workload.id, std::move(reasons)});
}

void Pass::grow() {
  auto most = budget_.starts_max - std::ssize(plan_.starts);
  for (StartItem& item : plan_growth(overlay_, stock_ ? stock_->departures() : Departures{}, most))
    plan_.starts.push_back(std::move(item));
}

}  // namespace moulin
