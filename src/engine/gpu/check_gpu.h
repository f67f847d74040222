// A look at the real devices of a machine, for people: what Moulin sees and what it thinks.
#pragma once

#include <cstdio>
#include <string>

#include "boundary/gpus.h"

namespace moulin {

// Exit codes of scripts/check-gpu and `moulin doctor --gpu`.
enum class GpuCheck {
  kAllWell = 0,
  kSomethingIll = 1,  // a device is unhealthy, unknown, or wants attention
  kNoGpus = 2,
  kNoAnswer = 3,  // the driver hangs
};

// Discovers, waits for the second look (the first has no process activity yet), at most
// half a minute, prints everything to `out`, and judges. Takes `gpus` from its beginning.
GpuCheck check_gpu(Gpus& gpus, std::FILE* out);

}  // namespace moulin
