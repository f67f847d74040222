// The items of a plan. Each was right in the state that the scheduler saw; one that no
// longer holds is refused with kConflict and the pass goes on.
#include <algorithm>
#include <set>

#include "core/decide_parts.h"

namespace moulin {

namespace {

Error no_longer(std::string_view what, WorkloadId workload) {
  return {.code = Code::kConflict, .message = std::string(what), .given = to_text(workload)};
}

// Replicas are numbered on from those the attempt has.
bool numbered_from(const std::vector<ReplicaPlacement>& replicas, int32_t first) {
  return std::ranges::all_of(replicas, [&](const ReplicaPlacement& item) { return item.replica.value == first++; });
}

Status start_attempt(Case& c, const Workload& workload, const command::Start& command) {
  if (workload.state != WorkloadState::kWaiting) return no_longer("no longer waiting", workload.id);
  if (workload.eligible_from > c.at()) return no_longer("still in its back-off", workload.id);
  MOULIN_CHECK(numbered_from(command.item.replicas, 0), "replicas are numbered from 0");
  c.happens(event::AttemptStarted{.workload = workload.id,
                                  .attempt = {workload.attempt_count + 1},
                                  .epoch = c.state().epoch,
                                  .token = command.identity.token,
                                  .rendezvous_port = command.identity.rendezvous_port,
                                  .replicas = command.item.replicas});
  return {};
}

Status add_replicas(Case& c, const Workload& workload, const command::Start& command) {
  if (workload.state != WorkloadState::kRunning) return no_longer("no longer running", workload.id);
  if (workload.eligible_from > c.at()) return no_longer("still in its back-off", workload.id);
  const Attempt& attempt = *workload.live();
  if (!numbered_from(command.item.replicas, attempt.next_replica().value))
    return no_longer("its replicas changed", workload.id);
  c.happens(
      event::ReplicasAdded{.workload = workload.id, .attempt = attempt.number, .replicas = command.item.replicas});
  return {};
}

// Only replicas above the minimum may end alone.
Status check_surplus(const Workload& victim, const std::vector<ReplicaIndex>& replicas) {
  if (victim.state != WorkloadState::kRunning) return no_longer("its replicas changed", victim.id);
  std::set<ReplicaIndex> leaving;
  const Attempt& attempt = *victim.live();
  for (ReplicaIndex index : replicas) {
    const Replica* replica = attempt.replica(index);
    if (replica == nullptr) return no_longer("its replicas changed", victim.id);
    if (replica->state == ReplicaState::kExited) return no_longer("the replica has ended", victim.id);
    leaving.insert(index);
  }
  auto staying = std::ranges::count_if(attempt.replicas, [&](const Replica& replica) {
    return replica.state != ReplicaState::kExited && !replica.end_asked && !leaving.contains(replica.index);
  });
  if (staying >= victim.spec.replicas.min) return {};
  return no_longer("fewer than its minimum of replicas would be left", victim.id);
}

Status check_eviction(const Case& c, const EvictItem& item) {
  const Workload* victim = c.state().workload(item.victim);
  if (victim == nullptr || !is_live(victim->state)) return no_longer("the victim has ended", item.victim);
  const Attempt& attempt = *victim->live();
  bool production = victim->spec.priority_class == Class::kProduction;
  bool allowed =
      item.cause == Cause::kDrain || item.cause == Cause::kUnhealthy || item.cause == Cause::kGangBelowMinimum;
  if (production && !allowed) return no_longer("production is never preempted", item.victim);
  if (item.replicas.empty())
    return attempt.intent == Intent::kStop ? no_longer("the victim is being stopped", item.victim) : Status{};
  return check_surplus(*victim, item.replicas);
}

void evict(Case& c, const EvictItem& item) {
  const Workload& victim = *c.state().workload(item.victim);
  if (item.replicas.empty()) return ask_end(c, victim, Intent::kPreempt, item.cause, item.beneficiary);
  const Attempt& attempt = *victim.live();
  for (ReplicaIndex index : item.replicas) {
    if (attempt.replica(index)->end_asked) continue;
    c.happens(event::ReplicaEndAsked{.key = {victim.id, attempt.number, index},
                                     .cause = item.cause,
                                     .beneficiary = item.beneficiary,
                                     .grace = victim.spec.grace,
                                     .leaves_by = c.at() + victim.spec.grace});
  }
}

// Who waits; or who is moved, and claims its next place before it leaves this one.
Status check_claimant(const Case& c, const command::Evict& command) {
  WorkloadId id = command.claim->owner;
  const Workload* owner = c.state().workload(id);
  bool moves = std::ranges::any_of(command.evictions,
                                   [id](const EvictItem& item) { return item.victim == id && item.replicas.empty(); });
  if (owner != nullptr && (moves || owner->state == WorkloadState::kWaiting)) return {};
  return no_longer("the claimant no longer waits", id);
}

}  // namespace

Status judge(Case& c, const command::Start& command) {
  const Workload* workload = c.state().workload(command.item.workload);
  if (workload == nullptr) return no_longer("the workload has left", command.item.workload);
  TRY(check_start(c.view(), command.item));
  return command.item.surplus ? add_replicas(c, *workload, command) : start_attempt(c, *workload, command);
}

Status judge(Case& c, const command::Evict& command) {
  std::set<WorkloadId> victims;
  for (const EvictItem& item : command.evictions) {
    TRY(check_eviction(c, item));
    if (!victims.insert(item.victim).second) return no_longer("a victim is named twice", item.victim);
  }
  if (command.claim) TRY(check_claimant(c, command));
  for (const EvictItem& item : command.evictions) evict(c, item);
  if (command.claim) c.happens(event::ClaimMade{*command.claim});
  return {};
}

Status judge(Case& c, const command::EndPass& command) {
  event::PassEnded ended{.seen = command.seen,
                         .starts = command.starts,
                         .evictions = command.evictions,
                         .dropped = command.dropped,
                         .waits = {}};
  for (const WaitItem& wait : command.waits) {
    const Workload* workload = c.state().workload(wait.workload);
    if (workload == nullptr || workload->state != WorkloadState::kWaiting || workload->waiting_for == wait.reasons)
      continue;
    ended.waits.push_back(wait);
  }
  bool nothing = ended.waits.empty() && ended.starts == 0 && ended.evictions == 0 && ended.dropped == 0;
  if (!nothing) c.happens(std::move(ended));
  return {};
}

}  // namespace moulin
