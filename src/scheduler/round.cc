#include "scheduler/round.h"

#include <tuple>

#include "scheduler/pass.h"

namespace moulin {

namespace {

// The tree or the hardware is another: what everybody is entitled to may be, too.
bool moves_the_ground(const EventBody& body) {
  return std::holds_alternative<event::TreeNodeCreated>(body) || std::holds_alternative<event::QuotaChanged>(body) ||
         std::holds_alternative<event::TreeNodeRemoved>(body) || std::holds_alternative<event::NodeRegistered>(body) ||
         std::holds_alternative<event::NodeModeChanged>(body) ||
         std::holds_alternative<event::NodePresenceChanged>(body) || std::holds_alternative<event::GpuChanged>(body) ||
         std::holds_alternative<event::NodeRemoved>(body);
}

// Whether somebody who could not start may be able to now.
bool may_free(const EventBody& body) {
  return std::holds_alternative<event::ReplicaEnded>(body) || std::holds_alternative<event::AttemptEnded>(body) ||
         std::holds_alternative<event::AttemptRan>(body) || std::holds_alternative<event::ClaimReleased>(body) ||
         std::holds_alternative<event::WorkloadStopped>(body) || std::holds_alternative<event::WorkloadPaused>(body);
}

// Whether somebody joins the queue, perhaps before those that were looked at.
bool may_start(const EventBody& body) {
  return std::holds_alternative<event::WorkloadSubmitted>(body) ||
         std::holds_alternative<event::WorkloadResumed>(body) || std::holds_alternative<event::BackOffEnded>(body);
}

// Whether everything that decides who starts, and why others do not, stays as it was: nobody
// holds, asks for or is entitled to anything else.
bool changes_nothing(const EventBody& body) {
  return std::holds_alternative<event::PassEnded>(body) || std::holds_alternative<event::ReplicaRan>(body) ||
         std::holds_alternative<event::AttemptRan>(body) || std::holds_alternative<event::CheckpointWritten>(body) ||
         std::holds_alternative<event::UsageRecorded>(body) || std::holds_alternative<event::StaleReported>(body) ||
         std::holds_alternative<event::StrangerEndAsked>(body) || std::holds_alternative<event::PauseAsked>(body) ||
         std::holds_alternative<event::WorkloadForgotten>(body);
}

bool has_joined(const Workload& workload) {
  return workload.state == WorkloadState::kWaiting && workload.eligible_from == Instant{};
}

void join(WaitQueues& queues, const Workload& workload) {
  Cow<WaitQueue>* queue = queues.find_mutable(workload.spec.project);
  if (queue == nullptr) queue = &queues.set(workload.spec.project, {});
  queue->mutate().set(wait_key(workload), true);
}

}  // namespace

bool Refusals::Alike::operator()(const Workload& a, const Workload& b) const {
  auto parts = [](const Workload& workload) {
    const WorkloadSpec& spec = workload.spec;
    const Resources& r = spec.resources;
    return std::tie(spec.project, spec.priority_class, spec.priority, spec.replicas.min, r.gpu.form, r.gpu.count,
                    r.gpu.share, r.gpu.memory, r.cpu, r.memory, r.isolation, r.gpu_models, spec.pools);
  };
  return parts(a) < parts(b);
}

RoundMemory::RoundMemory(Overlay& overlay, WaitQueues some, Refusals before)
    : only(std::move(some)), order(overlay, *only), is_ordered(true), refused(std::move(before)) {
  order.add_projects(INT64_MAX);
}

bool RoundMemory::comes_later(const Workload& waiting) const {
  if (served.contains(waiting.id)) return false;
  if (!only) return true;
  const Cow<WaitQueue>* queue = only->find(waiting.spec.project);
  return queue != nullptr && (*queue)->contains(wait_key(waiting));
}

void Round::forget() {
  memory_.reset();
  next_.reset();
}

// Priorities rise by the hour.
void Round::begin(Overlay& overlay) {
  Instant now = overlay.now();
  if (next_ && hour_of(now) == hour_of(everybody_at_)) {
    memory_ = std::make_unique<RoundMemory>(overlay, *std::move(next_), std::move(refused_));
  } else {
    memory_ = std::make_unique<RoundMemory>(overlay);
    everybody_at_ = now;
  }
  refused_ = {};
  next_.emplace();
}

Plan Round::slice(const View& view, const PassBudget& budget) {
  Plan plan = slice_once(view, budget);
  if (memory_ == nullptr || !memory_->needs_everybody) return plan;
  forget();
  return slice_once(view, budget);
}

Plan Round::slice_once(const View& view, const PassBudget& budget) {
  Overlay overlay(view);
  bool begins = memory_ == nullptr;
  if (begins)
    begin(overlay);
  else
    memory_->order.go_on(overlay, memory_->changed);
  memory_->changed.clear();
  Pass pass(overlay, budget, *memory_);
  if (begins) pass.drain();
  pass.put_in_order();
  Plan plan = pass.run();
  look_again_ = overlay.look_again();
  if (memory_->needs_everybody) return plan;
  // What is planned may yet be refused.
  auto changed = [&](WorkloadId id) { memory_->changed.insert(view.state.workload(id)->spec.project); };
  for (const StartItem& item : plan.starts) changed(item.workload);
  for (const EvictItem& item : plan.evictions) changed(item.victim);
  for (const Claim& claim : plan.claims) changed(claim.owner);
  if (plan.complete) {
    plan.complete = !memory_->is_late;
    end(view.state);
  }
  return plan;
}

void Round::end(const State& state) {
  for (WorkloadId id : memory_->undecided) {
    const Workload* workload = next_ ? state.workload(id) : nullptr;
    if (workload != nullptr && has_joined(*workload)) join(*next_, *workload);
  }
  refused_ = std::move(memory_->refused);
  std::erase_if(refused_.by_kind, [](const auto& known) { return !known.second.lasts; });
  memory_.reset();
}

void Round::follow(const State& after, const Event& event) {
  if (moves_the_ground(event.body)) return forget();
  WorkloadId id = event_workload(event.body);
  if (!id) return;
  const Workload* workload = after.workload(id);
  if (may_start(event.body)) {
    if (next_ && has_joined(*workload)) join(*next_, *workload);
  } else if (!changes_nothing(event.body)) {
    next_.reset();
  }
  if (memory_ == nullptr || workload == nullptr) return;
  memory_->changed.insert(workload->spec.project);
  if (may_free(event.body)) memory_->refused.by_kind.clear();
  memory_->is_late |= may_free(event.body) || may_start(event.body);
  bool others_may_start = memory_->only && !next_ && may_free(event.body);
  if (others_may_start) memory_.reset();
}

Plan make_plan(const View& view, const PassBudget& budget) { return Round().slice(view, budget); }

}  // namespace moulin
