#include "engine/local/usage_account.h"

#include <algorithm>

namespace moulin {

void UsageAccount::resume(std::string_view note) {
  Result<Counted> counted = decode<Counted>(note);
  if (note.empty() || !counted || counted->wall < counted_.wall) return;
  counted_ = *counted;
  usage_.gpu_active = std::max(usage_.gpu_active, counted_.gpu_active);
}

void UsageAccount::add(const ShimUsage& measured, ActivitySource& source) {
  usage_.cpu = std::max(usage_.cpu, measured.cpu);
  usage_.memory_peak = std::max(usage_.memory_peak, measured.memory_peak);
  if (measured.wall <= counted_.wall) return;
  Duration active = source.active({.key = key_,
                                   .grants = grants_,
                                   .pids = measured.pids,
                                   .wall = measured.wall - counted_.wall,
                                   .cpu = measured.cpu - counted_.cpu,
                                   .declared = measured.declared - counted_.declared,
                                   .declared_wall = measured.declared_wall - counted_.declared_wall});
  usage_.gpu_active += active;
  counted_ = {.wall = measured.wall,
              .cpu = measured.cpu,
              .declared = measured.declared,
              .declared_wall = measured.declared_wall,
              .gpu_active = usage_.gpu_active};
}

std::string UsageAccount::note() const { return encode(counted_); }

}  // namespace moulin
