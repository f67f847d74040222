// Names and memory sizes of GPU models, for real devices and for simulated ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

struct GpuModel {
  std::string_view name;  // "H100-80GB"
  int64_t memory_mib;     // as the driver reports the total, not the figure of the name
};

// The models that can be simulated without a thought, ordered by name.
std::span<const GpuModel> known_gpu_models();

// What the driver keeps for itself where it does not say: 384 MiB and a 400th of the
// memory, in whole MiB. For simulated devices, and for drivers before 510. It is a rule,
// not a measurement; devices that report their reserve are believed.
Bytes driver_reserve(Bytes total);

// The name under which Moulin knows a device, from the driver's product name and the
// total memory. "NVIDIA H100 80GB HBM3", 81,559 MiB is "H100-80GB". The rule:
//  1. Take away the words NVIDIA, Tesla, GeForce, Quadro, Graphics, Device, Generation;
//     what follows "MIG"; and memory kinds and boards (HBM2, HBM3, PCIe, SXM, NVL ...).
//  2. Take away the first size ("80GB") and keep it as a hint.
//  3. Join what is left with '-'. Nothing left: "GPU".
//  4. Append the size: that of the known model of this name whose memory is nearest, if
//     within a tenth; else the hint, if within a tenth; else the total in GiB, rounded up.
// Letters, digits and '-' only, at most 63 bytes; anything else becomes '-'.
ModelName model_name(std::string_view product, Bytes total);

// A model to be simulated, by its full name ("A100-40GB"), by a short one that only one
// known model has ("T4"), or any name that ends with -NNGB (1 to 1024). kInvalid: the
// memory is unknown or ambiguous; `allowed` says which names would do.
struct SimulatedModel {
  ModelName name;
  Bytes memory;
};
Result<SimulatedModel> simulated_model(std::string_view name);

}  // namespace moulin
