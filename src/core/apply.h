// The fold: one event onto the state. It never fails; an event that does not fit the
// state is a bug and aborts (MOULIN_CHECK), because decide() judged it before.
#pragma once

#include "model/event.h"
#include "model/state.h"

namespace moulin {

// The state after the event, which gets the next sequence number.
void apply(State& state, const Event& event);

}  // namespace moulin
