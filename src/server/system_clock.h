// The clock of a real server: CLOCK_BOOTTIME, moved on so that it never goes back over
// restarts of the server or of the machine.
#pragma once

#include "boundary/clock.h"

namespace moulin {

// What the machine's clocks say at one moment.
struct ClockReading {
  Duration boot;  // since the machine started
  Duration wall;  // since 1970
};

// What to add to the time since boot, so that time goes on from where wall time says that
// we are, and from `last` when the wall clock was set back meanwhile. `last` is the newest
// instant in the journal, 0 when it is empty; `wall_offset` the newest offset in it.
Duration instants_since_boot(Instant last, Duration wall_offset, const ClockReading& reading);

class SystemClock final : public Clock {
 public:
  // See instants_since_boot().
  SystemClock(Instant last, Duration wall_offset);
  Instant now() override;
  Duration wall_offset() override;

 private:
  Duration since_boot_;  // Instant = CLOCK_BOOTTIME + this
};

}  // namespace moulin
