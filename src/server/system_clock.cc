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

Duration instants_since_boot(Instant last, Duration wall_offset, const ClockReading& reading) {
  Instant now{reading.boot.us};
  if (last != Instant{}) now = std::max(last, Instant{(reading.wall - wall_offset).us});
  return Duration{now.us} - reading.boot;
}

SystemClock::SystemClock(Instant last, Duration wall_offset)
    : since_boot_(
          instants_since_boot(last, wall_offset, {.boot = read(CLOCK_BOOTTIME), .wall = read(CLOCK_REALTIME)})) {}

Instant SystemClock::now() { return {(read(CLOCK_BOOTTIME) + since_boot_).us}; }

Duration SystemClock::wall_offset() { return read(CLOCK_REALTIME) - Duration{now().us}; }

}  // namespace moulin
