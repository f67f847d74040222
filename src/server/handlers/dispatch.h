// From a request to its handler.
#pragma once

#include "server/handlers/world.h"

namespace moulin {

// Finds the operation, authenticates, and calls its handler. On the I/O thread.
void dispatch(World& world, Request request, Responder responder);

}  // namespace moulin
