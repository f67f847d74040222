#include "core/transitions.h"

#include <array>
#include <cstdint>

namespace moulin {

namespace {

constexpr size_t kStates = kWords<WorkloadState>.size();
constexpr size_t kSteps = kWords<WorkloadStep>.size();

// A set of states, one bit each. Empty: the step cannot come in that state.
using StateSet = uint32_t;
template <class... States>
constexpr StateSet to(States... states) {
  return ((StateSet{1} << static_cast<unsigned>(states)) | ...);
}
constexpr StateSet kNever = 0;

constexpr auto kWaiting = WorkloadState::kWaiting;
constexpr auto kStarting = WorkloadState::kStarting;
constexpr auto kRunning = WorkloadState::kRunning;
constexpr auto kStopping = WorkloadState::kStopping;
constexpr auto kPaused = WorkloadState::kPaused;
constexpr auto kSucceeded = WorkloadState::kSucceeded;
constexpr auto kFailed = WorkloadState::kFailed;
constexpr auto kStopped = WorkloadState::kStopped;

// By itself an attempt ends well, badly, or is lost and comes again; asked to end it can
// also be stopped or paused. Asked to end, it may still have succeeded.
constexpr StateSet kOwnEnd = to(kWaiting, kSucceeded, kFailed);
constexpr StateSet kAskedEnd = to(kWaiting, kPaused, kSucceeded, kFailed, kStopped);

// Rows: states. Columns: steps, in the order of WorkloadStep.
// clang-format off
constexpr std::array<std::array<StateSet, kSteps>, kStates> kTable{{
    // started, ran, added, end_asked, ended, stopped, paused, resumed, forgotten
    /* waiting */   {to(kStarting), kNever, kNever, kNever, kNever, to(kStopped), to(kPaused), kNever, kNever},
    /* starting */  {kNever, to(kRunning), kNever, to(kStopping), kOwnEnd, kNever, kNever, kNever, kNever},
    /* running */   {kNever, kNever, to(kRunning), to(kStopping), kOwnEnd, kNever, kNever, kNever, kNever},
    /* stopping */  {kNever, kNever, kNever, to(kStopping), kAskedEnd, kNever, kNever, kNever, kNever},
    /* paused */    {kNever, kNever, kNever, kNever, kNever, to(kStopped), kNever, to(kWaiting), kNever},
    /* succeeded */ {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever, to(kSucceeded)},
    /* failed */    {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever, to(kFailed)},
    /* stopped */   {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever, to(kStopped)},
}};
// clang-format on

StateSet cell(WorkloadState state, WorkloadStep step) {
  return kTable[static_cast<size_t>(state)][static_cast<size_t>(step)];
}

}  // namespace

bool may_follow(WorkloadState state, WorkloadStep step, WorkloadState next) {
  return (cell(state, step) & to(next)) != 0;
}

bool may_come(WorkloadState state, WorkloadStep step) { return cell(state, step) != kNever; }

bool may_follow(AttemptState state, AttemptState next) {
  switch (state) {
    case AttemptState::kStarting:
      return next == AttemptState::kRunning || next == AttemptState::kStopping || next == AttemptState::kEnded;
    case AttemptState::kRunning: return next == AttemptState::kStopping || next == AttemptState::kEnded;
    case AttemptState::kStopping: return next == AttemptState::kStopping || next == AttemptState::kEnded;
    case AttemptState::kEnded: return false;
  }
  MOULIN_UNREACHABLE();
}

bool may_follow(ReplicaState state, ReplicaState next) {
  switch (state) {
    case ReplicaState::kPlaced: return next == ReplicaState::kRunning || next == ReplicaState::kExited;
    case ReplicaState::kRunning: return next == ReplicaState::kExited;
    case ReplicaState::kExited: return false;
  }
  MOULIN_UNREACHABLE();
}

std::string state_diagram() {
  std::string text = "stateDiagram-v2\n    [*] --> waiting: workload_submitted\n";
  for (size_t state = 0; state < kStates; ++state) {
    for (size_t step = 0; step < kSteps; ++step) {
      for (size_t next = 0; next < kStates; ++next) {
        if ((kTable[state][step] & to(static_cast<WorkloadState>(next))) == 0) continue;
        bool leaves = static_cast<WorkloadStep>(step) == WorkloadStep::kForgotten;
        text += "    ";
        text += kWords<WorkloadState>[state];
        text += " --> ";
        text += leaves ? "[*]" : kWords<WorkloadState>[next];
        text += ": ";
        text += kWords<WorkloadStep>[step];
        text += '\n';
      }
    }
  }
  return text;
}

}  // namespace moulin
