// Who sends a request.
#pragma once

#include "api/http_types.h"
#include "model/command.h"
#include "model/state.h"

namespace moulin {

// From "Authorization: Bearer <token>". kUnauthenticated: missing, malformed, unknown,
// revoked or expired; the message does not say which of the last three, but `expired` is
// told to whoever holds the right secret.
Result<Actor> authenticate(const State& state, const Request& request, Instant now);

}  // namespace moulin
