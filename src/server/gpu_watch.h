// From what the devices tell to commands.
#pragma once

#include "boundary/engine.h"
#include "boundary/gpus.h"
#include "server/reactor.h"

namespace moulin {

// Health and foreign use of devices become ReportGpu commands. `gpus` must have been
// discovered; the others must outlive it.
void watch_gpus(Gpus& gpus, Reactor& reactor, const Engine& engine);

}  // namespace moulin
