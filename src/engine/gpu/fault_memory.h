// XIDs outlive the server but not the machine's start: a small file keeps them.
//
//   boot 6b6a0f0c-8a39-4f0d-9d6e-0f5a4c3b2a10
//   GPU-5a5c5b0e-... 79 13
//
// The file of another start of the machine is ignored: a restart resets every device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/names.h"

namespace moulin {

using XidsByGpu = std::map<GpuUuid, std::vector<int32_t>>;

inline constexpr const char* kFaultFile = "gpu_faults";

// Nothing when the folder is empty text, the file is missing, of another start, or broken:
// a health record must never keep the server from starting. At most kXidsKeptMax a device.
XidsByGpu recall_faults(const std::string& folder, const std::string& boot_id);

// Atomic and durable. Does nothing when `folder` is empty text.
Status remember_faults(const std::string& folder, const std::string& boot_id, const XidsByGpu& xids);

}  // namespace moulin
