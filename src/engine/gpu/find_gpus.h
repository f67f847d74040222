// The right Gpus for this machine and these options. Where main() starts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "boundary/gpus.h"
#include "engine/gpu/nvml.h"

namespace moulin {

struct GpuOptions {
  std::string simulate{};                                  // as simulate_spec.h; empty: real devices
  std::string library = kNvmlLibrary;                      // main passes MOULIN_NVML_LIBRARY, for tests
  std::string data_folder{};                               // of the server; empty: remember nothing
  std::function<std::map<GpuUuid, int32_t>()> activity{};  // as SimulatedGpusOptions
};

// Simulated devices, else the driver's, else none with a note that says why. Does not
// talk to the driver yet. kInvalid: the description of what to simulate is wrong.
Result<std::unique_ptr<Gpus>> find_gpus(GpuOptions options);

// No devices: a machine for workloads that need CPU only. `note` says why.
std::unique_ptr<Gpus> no_gpus(std::string note);

}  // namespace moulin
