#include <algorithm>

#include "scheduler/claims.h"
#include "scheduler/eviction/search.h"
#include "scheduler/explain/changes.h"
#include "scheduler/explain/estimate.h"
#include "scheduler/explain/reasons.h"
#include "scheduler/scheduler.h"

namespace moulin {

namespace {

// What the next pass would find for it: an eviction, or one that it gave up because too
// much would end.
struct Found {
  std::optional<Eviction> eviction{};
  bool too_disruptive = false;
};
Found look_for_eviction(Overlay& overlay, const Applicant& applicant, UnitStock& stock) {
  Overlay::Mark mark = overlay.checkpoint();
  EvictionSearch search(overlay, applicant, stock);
  Found found{.eviction = search.run()};
  found.too_disruptive = !found.eviction && search.was_too_disruptive();
  overlay.rollback(mark);
  return found;
}

void tell_eviction(Explanation& explanation, const Eviction& eviction, Instant now) {
  explanation.expected_start = std::max(now, eviction.claim.expires - kClaimSpare);
  explanation.expected_start_reason = "when those that make way for it have left, at the latest";
}

Explanation explain(const View& view, const Applicant& applicant, const Workload* workload) {
  Overlay overlay(view);
  UnitStock stock(overlay);
  Inquiry inquiry{overlay, applicant, workload, stock};
  inquiry.claim = overlay.claim_of(applicant.id);
  overlay.release_claim(applicant.id);
  Found found = look_for_eviction(overlay, applicant, stock);
  inquiry.too_disruptive = found.too_disruptive;
  bool pauses = workload != nullptr && workload->eligible_from > view.now;
  bool would_claim = found.eviction && inquiry.claim == nullptr && !pauses && !can_start(inquiry);
  // Who is not submitted yet has no claim; its first pass would make this one.
  if (workload == nullptr && would_claim) inquiry.claim = &found.eviction->claim;
  Explanation explanation{.reasons = find_reasons(inquiry)};
  explain_queue(inquiry, explanation.reasons);
  explanation.reasons = in_order(std::move(explanation.reasons));
  if (explanation.reasons.empty()) {
    explanation.expected_start = view.now;
    return explanation;
  }
  explanation.changes = find_changes(inquiry);
  if (would_claim) {
    tell_eviction(explanation, *found.eviction, view.now);
    return explanation;
  }
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
