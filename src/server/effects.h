// What the engine is asked to do because of an event. Effects are intents in the
// journal: they go out after the event is durable, and are repeated after a restart for
// whatever the engine does not show yet.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "boundary/engine.h"
#include "model/event.h"
#include "model/state.h"

namespace moulin {

struct EndEffect {
  ReplicaKey key;
  std::string token;
  EndReason reason = EndReason::kStop;
  Duration grace;
};
struct ReleaseEffect {
  ReplicaKey key;
  std::string token;
};
using Effect = std::variant<ReplicaLaunch, EndEffect, ReleaseEffect>;

// What of this installation goes into a launch.
struct LaunchSettings {
  std::string data_folder{};  // absolute
  bool simulated = false;
  bool isolates_users = false;     // root: each replica runs as its owner's account, or not at all
  Bytes log_kept = mebibytes(64);  // per stream of a replica
};

// `after` is the state after the event.
std::vector<Effect> effects_of(const State& after, const Event& event, const LaunchSettings& settings);

// All effects that the state asks for, for a server that has just started. The engine
// ignores those it has carried out.
std::vector<Effect> standing_effects(const State& state, const LaunchSettings& settings);

// One replica as the engine must start it.
ReplicaLaunch launch_of(const State& state, const Workload& workload, const Replica& replica,
                        const LaunchSettings& settings);

// Calls the engine.
void carry_out(Engine& engine, std::vector<Effect> effects);

}  // namespace moulin
