// What must be true when nothing new came and nothing went wrong for a while.
#pragma once

#include "sim/server/users.h"

namespace moulin::sim {

// Every request was answered, the server can write, the engine holds what the state says
// and nothing else, devices are as they are, and nothing waits that could start.
void check_settled(Life& life, Site& site, const Users& users);

// Nothing is held: not by workloads, not by the engine, not on any device.
void check_empty(Life& life, Site& site);

}  // namespace moulin::sim
