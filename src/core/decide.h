// The judge: a state and a command in, the events that follow from it out.
//
// Pure. An Error means that nothing happens. Success with no events means that it is so
// already (stopping what is stopping). Every (state, command) pair is handled here or
// refused with a sentence.
#pragma once

#include <map>
#include <vector>

#include "core/agenda.h"
#include "model/command.h"
#include "model/event.h"
#include "scheduler/scheduler.h"

namespace moulin {

using Events = std::vector<Event>;

// How many workloads may be unfinished: a Submit beyond is refused with kTooMany, because
// all of them are held in memory (about 1.5 kB each). No project can take the room of the others.
struct UnfinishedLimits {
  int64_t in_all = 500'000;
  int64_t in_project = 250'000;
};

// What decide() looks at; agenda and index are of this very state.
struct Grounds {
  const State& state;
  const Index& index;
  const Agenda& agenda;
  UnfinishedLimits unfinished{};
};

Result<Events> decide(const Grounds& view, const Command& command);

// For a dry run: what refuses each file of a Submit, by its place in the request, and of
// each the first reason. An Error is about the request as a whole.
Result<std::map<size_t, Error>> refusals(const Grounds& view, const Command& command);

// At most so many workloads in one Submit, and items of one Tick.
inline constexpr size_t kSubmitMax = 10'000;
inline constexpr size_t kTickMax = 1'000;
// Stale reports that are recorded in one minute; those beyond are dropped.
inline constexpr int64_t kStaleMost = 60;
// An idempotency key is kept for this long.
inline constexpr Duration kRequestKept = hours(24);
inline constexpr size_t kRequestKeyBytesMax = 200;

}  // namespace moulin
