// The scheduler as functions: a view in, a plan or an explanation out. Pure: no clock,
// no thread, no randomness; the same view and the same instant give the same answer.
//
// Rules: docs/how_moulin_decides.md. One file per rule; where to start: README.md.
#pragma once

#include "model/plan.h"
#include "model/reason.h"
#include "model/state.h"
#include "scheduler/index.h"

namespace moulin {

// What the scheduler looks at. Both are read only and stay as they are during a call.
struct View {
  const State& state;
  const Index& index;  // of this very state
  Instant now;
};

// Bounds of one pass. A pass that reaches one returns what it has with `complete = false`;
// round.h goes on from there.
struct PassBudget {
  int64_t candidates_max = 24'000;  // free shapes and nodes looked at; a workload counts as thirty
  int64_t starts_max = 200;
  int64_t evictions_max = 200;
};

// One pass, a round of its own: starts, growth of elastic workloads, evictions with claims, and the reasons
// of those left waiting. Never plans what decide() would refuse in the same state.
Plan make_plan(const View& view, const PassBudget& budget);

// Why the workload waits, with every change that would start it now, each verified.
// A workload that does not wait gets no reasons.
Explanation explain(const View& view, WorkloadId workload);

// The same for a workload that is not submitted yet (dry run): as if it were submitted
// at `view.now` by `owner`. No reasons: it would start now. never_fits and
// limit_exceeded are among the reasons here.
Explanation explain_new(const View& view, const WorkloadSpec& spec, const UserName& owner);

// kRefused with the reason and what to change when the workload can never run: larger
// than every registered node (down ones included) or alone above a limit of its project
// or an ancestor. Success says nothing about when it will start.
Status check_admission(const View& view, const WorkloadSpec& spec);

// Whether a planned start still holds: devices healthy and free, node open and up,
// limits, guarantees, claims of others. Used by decide() for each item of a plan.
Status check_start(const View& view, const StartItem& item);

}  // namespace moulin
