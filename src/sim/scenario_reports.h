// Actions in which the engine tells something that no rule of it makes.
#pragma once

#include "sim/scenario_steps.h"

namespace moulin::scenario {

// NAME, or {of: NAME, replica: 0, exit: 0}: all live replicas, or one, end.
Status finish(World& world, const Step& step);      // exit code 0 unless said
Status fail(World& world, const Step& step);        // exit code 1 unless said
Status lose(World& world, const Step& step);        // gone without a status
Status checkpoint(World& world, const Step& step);  // acknowledged by replica 0 unless said

// A node name: every replica on it is gone without a status.
Status lose_node(World& world, const Step& step);

// Any report, right or wrong:
// {kind: exited, of: NAME, attempt: 1, replica: 0, token: text, exit: 0, times: 2, after: 5s}
Status report(World& world, const Step& step);

}  // namespace moulin::scenario
