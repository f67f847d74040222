#include "server/gpu_watch.h"

namespace moulin {

namespace {

struct Located {
  NodeName node;
  Gpu gpu;
};

std::optional<Located> locate(const State& state, const GpuUuid& uuid) {
  for (const auto& [name, node] : state.nodes) {
    for (const Gpu& gpu : node->gpus) {
      if (gpu.uuid == uuid) return Located{name, gpu};
    }
  }
  return std::nullopt;
}

// A change happens now and then, not with every look, so finding the node may be slow.
void report(Reactor& reactor, const GpuChange& change) {
  std::optional<Located> found = locate(reactor.view()->state, change.uuid);
  if (!found) return;
  found->gpu.health = change.verdict.health;
  found->gpu.health_reason = change.verdict.reason;
  found->gpu.foreign_processes = std::ssize(change.foreign);
  found->gpu.foreign_memory = {};
  for (const GpuProcess& process : change.foreign) found->gpu.foreign_memory += process.memory.value_or(Bytes{});
  reactor.report(command::ReportGpu{std::move(found->node), std::move(found->gpu)});
}

}  // namespace

void watch_gpus(Gpus& gpus, Reactor& reactor, const Engine& engine) {
  gpus.watch({.is_ours = [&engine](int64_t pid) { return engine.is_ours(pid); },
              .on_change =
                  [&reactor](std::vector<GpuChange> changes) {
                    for (const GpuChange& change : changes) report(reactor, change);
                  }});
}

}  // namespace moulin
