// What must hold whatever happens. Written from the rules and not from the code that it
// watches: it counts everything again from the replicas, and shares nothing with the
// index, the scheduler or the table of transitions.
//
// Each check gives nothing when all is well, else a sentence that names what is wrong.
// Cost: O(replicas) each; check_core also rebuilds index and agenda.
#pragma once

#include <optional>
#include <string>

#include "core/core.h"

namespace moulin {

using Violation = std::optional<std::string>;

// What one event may do to the state. `before` and `after` are the states around it.
//   - the journal grows by one and time does not go back
//   - workloads, attempts and replicas move as the rules allow
//   - a start takes only healthy devices of open nodes that are up, stays inside every
//     limit, and takes nothing that another workload claims
//   - a gang starts whole; production starts inside its guarantees
//   - production is never preempted, and nobody by a lower class or a lower priority
//   - the bytes of the event read back as the same event
Violation check_event(const State& before, const Event& event, const State& after);

// What holds in every state.
//   - no device is given beyond 1000 thousandths or its memory, no node beyond its CPU
//     and memory
//   - the names are exactly those of the unfinished workloads
//   - claims belong to workloads that wait, or leave in order to be moved
Violation check_state(const State& state);

// What holds when all events of a command have been applied.
//   - exactly the unfinished attempts have replicas that hold something
//   - a live gang has its minimum, or is being ended, or is ending by itself
Violation check_between_commands(const State& state);

// The state, and that index and agenda are what a rebuild would give.
Violation check_core(const Core& core);

}  // namespace moulin
