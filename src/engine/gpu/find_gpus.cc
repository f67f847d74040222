#include "engine/gpu/find_gpus.h"

#include <fmt/format.h>

#include <utility>

#include "engine/gpu/host.h"
#include "engine/gpu/nvml_gpus.h"
#include "engine/gpu/simulated_gpus.h"

namespace moulin {

namespace {

class NoGpus final : public Gpus {
 public:
  explicit NoGpus(std::string note) : note_(std::move(note)) {}

  Result<GpuInventory> discover() override {
    HostFacts host = TRY(host_facts());
    GpuInventory inventory{.note = note_, .nodes = {}};
    inventory.nodes.push_back(
        {.name = NodeName(host.name), .cpu = host.cpu, .memory = host.memory, .gpus = {}, .labels = {}});
    return inventory;
  }
  void watch(GpuWatcher) override {}
  std::shared_ptr<const GpuSamples> latest() const override { return std::make_shared<GpuSamples>(); }
  std::function<std::shared_ptr<const GpuSamples>()> looks() const override {
    return [] { return std::make_shared<const GpuSamples>(); };
  }
  void forget_faults(const GpuUuid&) override {}

 private:
  std::string note_;
};

}  // namespace

std::unique_ptr<Gpus> no_gpus(std::string note) { return std::make_unique<NoGpus>(std::move(note)); }

Result<std::unique_ptr<Gpus>> find_gpus(GpuOptions options) {
  if (!options.simulate.empty()) {
    std::vector<SimulatedNode> nodes = TRY(parse_simulate_spec(options.simulate));
    return std::unique_ptr<Gpus>(new SimulatedGpus({.nodes = std::move(nodes),
                                                    .data_folder = std::move(options.data_folder),
                                                    .activity = std::move(options.activity)}));
  }
  Result<std::unique_ptr<NvmlGpus>> found =
      NvmlGpus::open({.library = options.library, .data_folder = std::move(options.data_folder)});
  if (found) return std::unique_ptr<Gpus>(std::move(*found));
  if (found.error().code == Code::kNotFound) {
    return no_gpus(fmt::format("no NVIDIA driver on this machine ({})", found.error().message));
  }
  return no_gpus(found.error().to_text());
}

}  // namespace moulin
