#include "scheduler/claims.h"
#include "scheduler/eviction/search.h"
#include "scheduler/explain/changes.h"
#include "scheduler/explain/estimate.h"
#include "scheduler/explain/reasons.h"
#include "scheduler/scheduler.h"

namespace moulin {

namespace {

struct Attempted {
  std::optional<Eviction> eviction{};
  bool too_disruptive = false;  // one was found and given up because too much would end
};

Attempted try_eviction(Overlay& overlay, const Applicant& applicant, UnitStock& stock) {
  Overlay::Mark mark = overlay.checkpoint();
  EvictionSearch search(overlay, applicant, stock);
  Attempted attempted{.eviction = search.run()};
  overlay.rollback(mark);
  attempted.too_disruptive = !attempted.eviction && search.was_too_disruptive();
  return attempted;
}

Explanation explain(const View& view, const Applicant& applicant, const Workload* workload) {
  Overlay overlay(view);
  UnitStock stock(overlay);
  Inquiry inquiry{overlay, applicant, workload, stock};
  inquiry.claim = overlay.claim_of(applicant.id);
  overlay.release_claim(applicant.id);
  Attempted attempted = try_eviction(overlay, applicant, stock);
  inquiry.too_disruptive = attempted.too_disruptive;
  // Who is not submitted yet has no claim; its first pass would make this one.
  if (workload == nullptr && attempted.eviction && !can_start(inquiry)) inquiry.claim = &attempted.eviction->claim;
  Explanation explanation{.reasons = find_reasons(inquiry)};
  explain_queue(inquiry, explanation.reasons);
  explanation.reasons = in_order(std::move(explanation.reasons));
  if (explanation.reasons.empty()) {
    explanation.expected_start = view.now;
    return explanation;
  }
  explanation.changes = find_changes(inquiry);
  Estimate estimate = estimate_start(inquiry);
  explanation.expected_start = estimate.start;
  explanation.expected_start_reason = std::move(estimate.reason);
  return explanation;
}

}  // namespace

Explanation explain(const View& view, WorkloadId id) {
  const Workload* workload = view.state.workload(id);
  if (workload == nullptr || workload->state != WorkloadState::kWaiting) return {};
  TreePath path = path_to_root(view.state, workload->spec.project);
  return explain(view, {workload->spec, path, id}, workload);
}

Explanation explain_new(const View& view, const WorkloadSpec& spec, const UserName&) {
  TreePath path = path_to_root(view.state, spec.project);
  MOULIN_CHECK(!path.empty(), "a dry run in an unknown project");
  return explain(view, {spec, path}, nullptr);
}

}  // namespace moulin
