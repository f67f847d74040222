// The clock of a real server: CLOCK_BOOTTIME, moved on so that it never goes back over
// restarts of the server or of the machine.
#pragma once

#include "boundary/clock.h"

namespace moulin {

class SystemClock final : public Clock {
 public:
  // `last` is the newest instant in the journal, 0 when it is empty; `wall_offset` the
  // newest offset in it. Time goes on from where wall time says that we are, and from
  // `last` when the wall clock was set back meanwhile.
  SystemClock(Instant last, Duration wall_offset);
  Instant now() override;
  Duration wall_offset() override;

 private:
  Duration since_boot_;  // Instant = CLOCK_BOOTTIME + this
};

}  // namespace moulin
