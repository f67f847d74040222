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

// Forgotten an hour's worth at a time, not one by one.
bool requests_are_old(const Agenda& agenda, Instant now) {
  std::optional<Instant> oldest = agenda.oldest_request();
  return oldest && *oldest < now - kRequestKept - hours(1);
}

}  // namespace

Status judge(Case& c, const command::Tick&) {
  std::set<WorkloadId> forgotten;
  std::set<WorkloadId> ended;  // whose end was asked for here: their claims go with that
  for (const Due& due : c.agenda().due(c.at(), kTickMax)) {
    if (due.kind == DueKind::kForget) forgotten.insert(due.workload);
    if (due.kind == DueKind::kDurationLimit) ended.insert(due.workload);
    if (due.kind == DueKind::kClaimExpires && ended.contains(due.workload)) continue;
    come_due(c, due);
  }
  for (WorkloadId id : c.agenda().surplus_finished(kTickMax)) {
    if (!forgotten.contains(id)) c.happens(event::WorkloadForgotten{id});
  }
  if (requests_are_old(c.agenda(), c.at())) c.happens(event::RequestsForgotten{c.at() - kRequestKept});
  return {};
}

}  // namespace moulin
