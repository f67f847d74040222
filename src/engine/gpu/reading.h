// Asking the driver: once for what there is, and again and again for what goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "boundary/gpus.h"
#include "engine/gpu/health.h"
#include "engine/gpu/nvml.h"

namespace moulin {

// A device as we keep it between looks.
struct KnownDevice {
  NvmlDevice device;
  GpuUuid uuid;
  uint64_t activity_seen = 0;  // the newest timestamp of process activity so far
};

// What the driver tells about this machine's devices.
struct DeviceList {
  std::string driver_version;
  std::string cuda_version;
  std::vector<KnownDevice> devices;
  std::vector<Gpu> gpus;                 // beside `devices`
  std::vector<GpuDetails> details;       // beside `devices`
  std::vector<std::string> unreachable;  // devices that have no handle or UUID, one sentence each
};

// `sys_folder` is "/sys" (NUMA nodes are read there). Asks every device everything; an
// answer that fails leaves its fact empty and a sentence in GpuDetails::missing. Fails
// only when the devices cannot be counted.
NvmlAnswer<DeviceList> list_devices(Nvml& nvml, const std::string& sys_folder);

// One look at one device.
struct GpuReading {
  GpuSample sample;  // verdict still open, XIDs not filled
  GpuSigns signs;    // XIDs not filled
};
GpuReading read_device(Nvml& nvml, KnownDevice& known, const std::function<bool(int64_t pid)>& is_ours);

}  // namespace moulin
