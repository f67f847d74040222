// What `moulin up --simulate` describes: nodes that do not exist, with GPUs that do not.
//
//   spec    = group { "+" group }
//   group   = [ count "x" ] node
//   node    = gpus | "(" item { "," item } ")"
//   item    = gpus | cpu | memory           cpu and memory at most once a node
//   gpus    = count "x" model               model as in gpu_models.h: "H100-80GB", "T4"
//   cpu     = amount "cpu"                  "64cpu", "0.5cpu"
//   memory  = amount unit                   "512GiB": KiB, MiB, GiB, TiB, kB, MB, GB, TB
//
//   8xH100-80GB                             one node with eight
//   500x(8xH100-80GB)                       five hundred of it
//   2x(8xH100-80GB)+1x(4xA100-40GB)         two kinds
//   (8xH100-80GB,64cpu,512GiB)              CPU and memory said
//   (64cpu,256GiB)                          a node without GPUs
//
// Spaces around the parts are ignored. CPU and memory that are not said: 16 cores and
// 128 GiB for each GPU, 16 cores and 64 GiB for a node without. They are simulated like
// the GPUs: the machine that runs the processes has what it has.
//
// Nodes are named sim-000, sim-001 ... (more digits when there are more than a thousand)
// and GPUs GPU-sim-000-00 ..., so the same spec always gives the same names, and a spec
// that grows keeps them up to a thousand nodes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

inline constexpr int32_t kSimulatedNodesMax = 100'000;
inline constexpr int32_t kSimulatedGpusPerNodeMax = 16;
inline constexpr int64_t kSimulatedGpusMax = 1'000'000;  // on all nodes
inline constexpr size_t kSimulateSpecMax = 4096;         // bytes
inline constexpr CpuMilli kSimulatedCpuMax{4'096'000};
inline constexpr Bytes kSimulatedMemoryMax = gibibytes(64 * 1024);

struct SimulatedGpu {
  GpuUuid uuid;
  int32_t index = 0;
  ModelName model;
  Bytes memory;  // total; what the driver keeps is driver_reserve(memory)
};

struct SimulatedNode {
  NodeName name;
  std::vector<SimulatedGpu> gpus;
  CpuMilli cpu;
  Bytes memory;
};

// kInvalid: the Error names the position (from 1), what stands there, and what may.
// Memory: about 150 bytes for each GPU.
Result<std::vector<SimulatedNode>> parse_simulate_spec(std::string_view spec);

}  // namespace moulin
