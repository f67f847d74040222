// From what a device shows to a verdict with a sentence. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "boundary/gpus.h"

namespace moulin {

enum class Reach {
  kAnswers,
  kLost,  // the driver says that it has fallen off the bus
  kNeedsReset,
  kBlocked,  // the operating system keeps us from it
  kFails,    // every question fails in another way
};

// What one look found, as far as health goes.
struct GpuSigns {
  Reach reach = Reach::kAnswers;
  int64_t ecc_uncorrected = 0;  // since the driver was loaded or the device reset
  bool row_remap_failed = false;
  bool row_remap_pending = false;
  int32_t recovery_action = 0;  // as Nvml::recovery_action
  bool mig_enabled = false;
  std::optional<GpuVerdict> declared{};  // of a simulated device: the last word
  std::vector<int32_t> xids;             // since the machine started, or since they were forgotten
};

// The gravest sign decides and gives the sentence. MIG switched on gives kUnknown: a
// workload would get some part of the device and not the share that it was promised.
GpuVerdict judge(const GpuSigns& signs);

}  // namespace moulin
