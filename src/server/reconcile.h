// Comparing what the state believes with what the engine holds: at the start and from
// time to time, because reports and intents can be lost with a machine.
#pragma once

#include <vector>

#include "boundary/engine.h"
#include "model/state.h"
#include "server/effects.h"

namespace moulin {

struct Differences {
  // To be taken as reports: replicas that run for the state and are gone for the engine,
  // and processes of ours that the state does not know.
  std::vector<EngineReport> reports;
  // Exited replicas whose end is known already: the engine may forget them.
  std::vector<ReleaseEffect> releases;
};

// `held` is a scan made after `state` was read. What it could not look at is not gone.
Differences compare(const State& state, const Held& held);

}  // namespace moulin
