// layers: engine
// What describes GPUs in text: a simulation, a declaration, a product name, cgroups.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "engine/gpu/gpu_models.h"
#include "engine/gpu/host.h"
#include "engine/gpu/simulate_spec.h"
#include "engine/gpu/simulated_gpus.h"

namespace moulin {
namespace {

void check_spec(std::string_view text) {
  Result<std::vector<SimulatedNode>> nodes = parse_simulate_spec(text);
  if (!nodes) {
    MOULIN_CHECK(!nodes.error().message.empty() && !nodes.error().allowed.empty());
    return;
  }
  MOULIN_CHECK(!nodes->empty() && nodes->size() <= static_cast<size_t>(kSimulatedNodesMax));
  const SimulatedNode* before = nullptr;
  for (const SimulatedNode& node : *nodes) {
    MOULIN_CHECK(before == nullptr || before->name < node.name, "ordered and unique");
    MOULIN_CHECK(node.gpus.size() <= static_cast<size_t>(kSimulatedGpusPerNodeMax));
    MOULIN_CHECK(node.cpu > CpuMilli{} && node.memory > Bytes{});
    for (const SimulatedGpu& gpu : node.gpus) {
      MOULIN_CHECK(driver_reserve(gpu.memory) < gpu.memory, "something is left for workloads");
    }
    before = &node;
  }
}

void check_product(std::string_view text) {
  ModelName name = model_name(text, mebibytes(81559));
  MOULIN_CHECK(!name.empty() && name.text.size() <= 63 && is_utf8(name.text));
}

void check_declaration(std::string_view text) {
  Result<GpuReading> reading = parse_declaration(GpuUuid("GPU-sim-000-00"), text);
  if (!reading) return;
  GpuVerdict verdict = judge(reading->signs);
  MOULIN_CHECK(verdict.health == Health::kHealthy || !verdict.reason.empty());
}

}  // namespace
}  // namespace moulin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  moulin::check_spec(text);
  moulin::check_product(text);
  moulin::check_declaration(text);
  moulin::find_cgroups(text.substr(0, size / 2), text.substr(size / 2));
  (void)moulin::parse_memory_total(text);
  return 0;
}
