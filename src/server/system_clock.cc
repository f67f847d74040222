#include "server/system_clock.h"

#include <time.h>

#include <algorithm>

#include "base/check.h"

namespace moulin {

namespace {

Duration read(clockid_t clock) {
  timespec time{};
  MOULIN_CHECK(clock_gettime(clock, &time) == 0);
  return {time.tv_sec * 1'000'000 + time.tv_nsec / 1'000};
}

}  // namespace

SystemClock::SystemClock(Instant last, Duration wall_offset) {
  Duration boot = read(CLOCK_BOOTTIME);
  Instant now{boot.us};
  if (last != Instant{}) now = std::max(last, Instant{(read(CLOCK_REALTIME) - wall_offset).us});
  since_boot_ = Duration{now.us} - boot;
}

Instant SystemClock::now() { return {(read(CLOCK_BOOTTIME) + since_boot_).us}; }

Duration SystemClock::wall_offset() { return read(CLOCK_REALTIME) - Duration{now().us}; }

}  // namespace moulin
