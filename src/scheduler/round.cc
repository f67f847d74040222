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

}  // namespace

bool RoundMemory::Alike::operator()(const Workload& a, const Workload& b) const {
  auto parts = [](const Workload& workload) {
    const WorkloadSpec& spec = workload.spec;
    const Resources& r = spec.resources;
    return std::tie(spec.project, spec.priority_class, spec.priority, spec.replicas.min, r.gpu.form, r.gpu.count,
                    r.gpu.share, r.gpu.memory, r.cpu, r.memory, r.isolation, r.gpu_models, spec.pools);
  };
  return parts(a) < parts(b);
}

Plan Round::slice(const View& view, const PassBudget& budget) {
  Overlay overlay(view);
  bool begins = memory_ == nullptr;
  if (begins)
    memory_ = std::make_unique<RoundMemory>(overlay);
  else
    memory_->order.go_on(overlay, memory_->changed);
  memory_->changed.clear();
  Pass pass(overlay, budget, *memory_);
  if (begins) pass.drain();
  pass.put_in_order();
  Plan plan = pass.run();
  // What is planned may yet be refused.
  auto changed = [&](WorkloadId id) { memory_->changed.insert(view.state.workload(id)->spec.project); };
  for (const StartItem& item : plan.starts) changed(item.workload);
  for (const EvictItem& item : plan.evictions) changed(item.victim);
  for (const Claim& claim : plan.claims) changed(claim.owner);
  if (plan.complete) {
    plan.complete = !memory_->is_late;
    forget();
  }
  return plan;
}

void Round::follow(const State& after, const Event& event) {
  if (memory_ == nullptr) return;
  if (moves_the_ground(event.body)) return forget();
  const Workload* workload = after.workload(event_workload(event.body));
  if (workload == nullptr) return;
  memory_->changed.insert(workload->spec.project);
  if (may_free(event.body)) memory_->refused.clear();
  memory_->is_late |= may_free(event.body) || may_start(event.body);
}

Plan make_plan(const View& view, const PassBudget& budget) { return Round().slice(view, budget); }

}  // namespace moulin
