// Time for the shell. The core never sees a clock: commands carry their instant.
#pragma once

#include "base/instant.h"

namespace moulin {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back, goes on while the machine sleeps.
  virtual Instant now() = 0;
  // Wall time since 1970 is now() + this. Moves when somebody sets the wall clock.
  virtual Duration wall_offset() = 0;
};

}  // namespace moulin
