#include "engine/local/activity.h"

#include <algorithm>

#include "base/wide.h"

namespace moulin {
namespace {

struct Ratio {
  int64_t part = 0;
  int64_t whole = 1;
};
Duration scaled(Duration duration, Ratio ratio) {
  return {static_cast<int64_t>(static_cast<Wide>(duration.us) * ratio.part / ratio.whole)};
}

}  // namespace

Duration held_time(Duration wall, const std::vector<Grant>& grants) {
  Share total{};
  for (const Grant& grant : grants) total += grant.share;
  return scaled(wall, {.part = total.milli, .whole = kWholeDevice.milli});
}

Duration DeclaredActivity::active(const ActivityPeriod& period) {
  Duration wall = std::max(period.wall, Duration{});
  Duration declared_wall = std::clamp(period.declared_wall, Duration{}, wall);
  Duration declared = std::clamp(period.declared, Duration{}, declared_wall);
  Duration silent = wall - declared_wall;
  // As if the CPU time were spread evenly over the period.
  Duration cpu = std::max(period.cpu, Duration{});
  Duration silent_cpu = wall.us == 0 ? Duration{} : scaled(cpu, {.part = silent.us, .whole = wall.us});
  return held_time(declared, period.grants) + std::min(silent_cpu, held_time(silent, period.grants));
}

}  // namespace moulin
