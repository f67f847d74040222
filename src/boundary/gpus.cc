#include "boundary/gpus.h"

#include <algorithm>

namespace moulin {

Bytes GpuSample::foreign_memory() const {
  Bytes sum;
  for (const GpuProcess& process : processes) {
    if (!process.ours) sum += process.memory.value_or(Bytes{});
  }
  return sum;
}

bool GpuSample::has_foreign() const {
  return std::any_of(processes.begin(), processes.end(), [](const GpuProcess& process) { return !process.ours; });
}

const GpuSample* GpuSamples::find(const GpuUuid& uuid) const {
  auto found =
      std::find_if(devices.begin(), devices.end(), [&](const GpuSample& sample) { return sample.uuid == uuid; });
  return found == devices.end() ? nullptr : &*found;
}

}  // namespace moulin
