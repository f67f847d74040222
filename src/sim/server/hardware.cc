#include "sim/server/hardware.h"

#include <utility>

namespace moulin::sim {

namespace {

constexpr Bytes kForeignMemory = gibibytes(10);

Node make_node(std::string_view name, std::string_view model, Bytes memory) {
  Node node{.name = NodeName(name), .cpu = {16'000}, .memory = gibibytes(128), .gpus = {}, .labels = {}};
  for (int32_t i = 0; i < 4; ++i) {
    node.gpus.push_back({.uuid = GpuUuid(std::string(name) + "-" + std::to_string(i)),
                         .index = i,
                         .model = ModelName(model),
                         .memory = memory,
                         .reserve = gibibytes(1)});
  }
  return node;
}

GpuChange change_of(const Gpu& gpu) {
  GpuChange change{.uuid = gpu.uuid, .verdict = {.health = gpu.health, .reason = gpu.health_reason}, .foreign = {}};
  if (gpu.foreign_processes > 0) change.foreign.push_back({.pid = 9, .memory = gpu.foreign_memory});
  return change;
}

}  // namespace

class VirtualGpus final : public Gpus {
 public:
  explicit VirtualGpus(Hardware& hardware) : hardware_(hardware) {}
  ~VirtualGpus() override { hardware_.on_change_ = nullptr; }

  Result<GpuInventory> discover() override { return hardware_.inventory(); }
  void watch(GpuWatcher watcher) override {
    hardware_.on_change_ = std::move(watcher.on_change);
    std::vector<GpuChange> ill;
    for (const Node& node : hardware_.nodes_) {
      for (const Gpu& gpu : node.gpus)
        if (gpu.health != Health::kHealthy || gpu.foreign_processes > 0) ill.push_back(change_of(gpu));
    }
    if (!ill.empty()) hardware_.on_change_(std::move(ill));
  }
  std::shared_ptr<const GpuSamples> latest() const override { return std::make_shared<GpuSamples>(); }
  std::function<std::shared_ptr<const GpuSamples>()> looks() const override {
    return [] { return std::make_shared<const GpuSamples>(); };
  }
  void forget_faults(const GpuUuid& uuid) override { hardware_.change(uuid, {}, 0); }

 private:
  Hardware& hardware_;
};

Hardware::Hardware()
    : nodes_{make_node("alpha", "H100-80GB", gibibytes(80)), make_node("beta", "A100-40GB", gibibytes(40)),
             make_node("gamma", "H100-80GB", gibibytes(80))} {}

Gpu* Hardware::find_own(const GpuUuid& uuid) {
  for (Node& node : nodes_) {
    for (Gpu& gpu : node.gpus)
      if (gpu.uuid == uuid) return &gpu;
  }
  return nullptr;
}
const Gpu* Hardware::find(const GpuUuid& uuid) const { return const_cast<Hardware*>(this)->find_own(uuid); }

GpuInventory Hardware::inventory() const { return {.source = GpuSource::kSimulated, .nodes = nodes_}; }

void Hardware::change(const GpuUuid& uuid, const GpuVerdict& verdict, int64_t foreign_processes) {
  Gpu* gpu = find_own(uuid);
  if (gpu == nullptr) return;
  gpu->health = verdict.health;
  gpu->health_reason = verdict.reason;
  gpu->foreign_processes = foreign_processes;
  gpu->foreign_memory = foreign_processes > 0 ? kForeignMemory : Bytes{};
  if (on_change_) on_change_({change_of(*gpu)});
}

void Hardware::heal() {
  for (const Node& node : nodes_) {
    for (const Gpu& gpu : node.gpus) change(gpu.uuid, {}, 0);
  }
}

std::unique_ptr<Gpus> Hardware::gpus() { return std::make_unique<VirtualGpus>(*this); }

}  // namespace moulin::sim
