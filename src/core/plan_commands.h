// A plan as commands: one for each item, so that each is judged on its own.
#pragma once

#include <functional>

#include "model/command.h"
#include "model/plan.h"

namespace moulin {

// Starts first, then evictions without a claim, then each claim together with the
// evictions made for its owner; each of these in the order of the plan. `identity_for`
// makes what only the shell can make. The EndPass that closes a pass is added by the caller,
// who knows what was dropped.
std::vector<Command> commands_of(const Plan& plan, Instant at,
                                 const std::function<command::AttemptIdentity(const StartItem&)>& identity_for);

}  // namespace moulin
