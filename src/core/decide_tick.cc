// What time brings.
#include "core/decide_parts.h"

namespace moulin {

namespace {

void come_due(Case& c, const Due& due) {
  const Workload& workload = *c.state().workload(due.workload);
  switch (due.kind) {
    case DueKind::kDurationLimit: return ask_end(c, workload, Intent::kFail, Cause::kLimit);
    case DueKind::kBackOffEnds: return c.happens(event::BackOffEnded{due.workload});
    case DueKind::kClaimExpires: return c.happens(event::ClaimReleased{due.workload});
    case DueKind::kForget: return c.happens(event::WorkloadForgotten{due.workload});
  }
}

// The oldest remembered request is looked for once an hour at most: requests are few.
bool requests_are_old(const State& state, Instant now) {
  for (const auto& [key, request] : state.requests) {
    if (request->at < now - kRequestKept - hours(1)) return true;
  }
  return false;
}

}  // namespace

Status judge(Case& c, const command::Tick&) {
  std::set<WorkloadId> forgotten;
  for (const Due& due : c.agenda().due(c.at(), kTickMax)) {
    if (due.kind == DueKind::kForget) forgotten.insert(due.workload);
    come_due(c, due);
  }
  for (WorkloadId id : c.agenda().surplus_finished(kTickMax)) {
    if (!forgotten.contains(id)) c.happens(event::WorkloadForgotten{id});
  }
  if (requests_are_old(c.state(), c.at())) c.happens(event::RequestsForgotten{c.at() - kRequestKept});
  return {};
}

}  // namespace moulin
