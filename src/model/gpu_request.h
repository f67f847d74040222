// The forms in which a person asks for GPU, in a workload file and after --gpu.
#pragma once

#include <string_view>

#include "base/json.h"
#include "model/resources.h"

namespace moulin {

// The most memory that one replica may ask for, of a device or of a node.
inline constexpr Bytes kMemoryMax = gibibytes(64 * 1024);
// Less is a forgotten unit: "20" are 20 bytes.
inline constexpr Bytes kMemoryMin = mebibytes(1);

// 0.25 | 2 | {count: 2, share: 0.5} | {memory: 20GiB}, amounts as numbers or as text.
// More than one device is whole devices unless `share` says otherwise: 1.5 is refused.
// A share of 1 reads as whole devices. Errors are kInvalid and name `path`.
Result<GpuRequest> read_gpu_request(const Json& value, std::string_view path);

// The shortest of these forms; reads back as the same request. Null for kNone.
Json write_gpu_request(const GpuRequest& request);

// Memory with a unit, from kMemoryMin to kMemoryMax: "16GiB".
Result<Bytes> read_memory(const Json& value, std::string_view path);

}  // namespace moulin
