// Where the replicas of a gang on one machine meet.
#pragma once

#include "base/result.h"

namespace moulin {

// A TCP port that nobody uses now, for MASTER_PORT. It is not held: the gang's first
// replica binds it later. Ports lie outside the range from which the system serves
// outgoing connections, and successive calls give different ones (12,000 before the first
// comes again), so that only a program that insists on this very port can get in between.
// Thread-safe. kUnavailable when none of kPortTriesMax ports is free.
Result<int> reserve_port();

inline constexpr int kPortTriesMax = 2000;

}  // namespace moulin
