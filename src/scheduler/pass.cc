#include "scheduler/pass.h"

#include <tuple>

#include "scheduler/claims.h"
#include "scheduler/placement/place.h"

namespace moulin {

bool Pass::Alike::operator<(const Alike& other) const {
  auto parts = [](const Workload& workload) {
    const WorkloadSpec& spec = workload.spec;
    const Resources& r = spec.resources;
    return std::tie(spec.project, spec.priority_class, spec.priority, spec.replicas.min, r.gpu.form, r.gpu.count,
                    r.gpu.share, r.gpu.memory, r.cpu, r.memory, r.isolation, r.gpu_models, spec.pools);
  };
  return parts(example) < parts(other.example);
}

Pass::Pass(const View& view, const PassBudget& budget)
    : view_(view), budget_(budget), overlay_(view), order_(overlay_) {
  plan_.seen = view.state.sequence;
}

Plan Pass::run() {
  while (!is_spent()) {
    std::optional<WorkloadId> next = order_.next();
    if (!next) break;
    serve(*next);
  }
  plan_.complete = !is_spent();
  if (plan_.complete) grow();
  plan_.counts.candidates_touched = overlay_.touched();
  return std::move(plan_);
}

bool Pass::is_spent() const {
  return overlay_.touched() >= budget_.candidates_max || std::ssize(plan_.starts) >= budget_.starts_max ||
         std::ssize(plan_.evictions) >= budget_.evictions_max;
}

const TreePath& Pass::path_of(const TreeName& project) {
  TreePath& path = paths_[project];
  if (path.empty()) path = path_to_root(view_.state, project);
  return path;
}

// A workload that was evicted waits until the one that it was evicted for has had its turn.
void Pass::serve(WorkloadId id) {
  const Workload& workload = *view_.state.workload(id);
  const Workload* evictor = workload.evicted_by ? view_.state.workload(workload.evicted_by) : nullptr;
  bool evictor_waits = evictor != nullptr && evictor->state == WorkloadState::kWaiting &&
                       evictor->eligible_from <= view_.now && !served_.contains(evictor->id);
  if (evictor_waits) {
    parked_[evictor->id].push_back(id);
    return;
  }
  serve_one(workload);
  served_.insert(id);
  auto parked = parked_.extract(id);
  if (parked.empty()) return;
  for (WorkloadId behind : parked.mapped()) serve(behind);
}

void Pass::serve_one(const Workload& workload) {
  ++plan_.counts.workloads_examined;
  if (refused_.contains({workload})) return wait(workload);
  Applicant applicant{workload.spec, path_of(workload.spec.project), workload.id};
  if (start(applicant)) return order_.refresh(workload.spec.project);
  refused_.emplace(Alike{workload}, std::vector<ReasonCode>{ReasonCode::kNoCapacity});
  wait(workload);
}

bool Pass::start(const Applicant& applicant) {
  Overlay::Mark mark = overlay_.checkpoint();
  remove_claim(overlay_, applicant);
  auto placed = place_gang(overlay_, applicant, Hold::kHeld, {.first = 0, .count = applicant.spec.replicas.min});
  if (!placed) {
    overlay_.rollback(mark);
    return false;
  }
  plan_.starts.push_back({.workload = applicant.id, .replicas = *std::move(placed)});
  return true;
}

void Pass::wait(const Workload& workload) { plan_.waits.push_back({workload.id, refused_.at({workload})}); }

// Elastic workloads take what nobody waits for, one replica at a time.
void Pass::grow() {}

Plan make_plan(const View& view, const PassBudget& budget) { return Pass(view, budget).run(); }

}  // namespace moulin
