// random_spec(): mostly small, now and then odd.
#include "sim/random_actions.h"

namespace moulin {

namespace {

GpuRequest random_gpu(Rng& rng) {
  switch (rng.below(6)) {
    case 0: return {};
    case 1: return {.form = GpuForm::kDevices, .count = rng.between(1, 3), .share = kWholeDevice};
    case 2: return {.form = GpuForm::kMemory, .count = 1, .memory = gibibytes(rng.between(1, 60))};
    case 3: return {.form = GpuForm::kShare, .count = 2, .share = {rng.between(1, 9) * 100}};
  }
  return {.form = GpuForm::kShare, .count = 1, .share = {rng.between(10, 999)}};
}

Resources random_resources(Rng& rng) {
  Resources resources{.gpu = random_gpu(rng), .gpu_models = {}};
  if (rng.chance(200)) resources.gpu_models.push_back(ModelName(rng.chance(500) ? "H100-80GB" : "A100-40GB"));
  if (rng.chance(100)) resources.isolation = IsolationWish::kRequired;
  if (rng.chance(400)) resources.cpu = {rng.between(1, 12) * 500};
  if (rng.chance(400)) resources.memory = gibibytes(rng.between(1, 60));
  return resources;
}

ReplicaRange random_range(Rng& rng) {
  if (rng.chance(600)) return {};
  int64_t min = rng.between(1, 3);
  return {.min = min, .max = rng.chance(500) ? min : min + rng.between(1, 3)};
}

}  // namespace

WorkloadSpec random_spec(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  std::vector<TreeName> projects;
  for (const auto& [name, node] : cluster.simulation.state().tree) {
    if (node->kind == TreeKind::kProject) projects.push_back(name);
  }
  WorkloadSpec spec{.name = "w" + std::to_string(++cluster.names), .argv = {"true"}};
  if (!projects.empty()) spec.project = cluster.one_of(projects);
  spec.kind = static_cast<Kind>(rng.below(std::ssize(kWords<Kind>)));
  spec.priority_class = static_cast<Class>(rng.below(std::ssize(kWords<Class>)));
  spec.priority = rng.chance(300) ? rng.between(-3, 3) : 0;
  spec.resources = random_resources(rng);
  spec.replicas = random_range(rng);
  spec.min_runtime = rng.chance(200) ? seconds(rng.between(1, 300)) : Duration{};
  spec.checkpoints = rng.chance(500);
  spec.grace = seconds(rng.between(0, 60));
  spec.retry = {.on_failed = rng.chance(500),
                .on_node_lost = rng.chance(700),
                .max = rng.below(4),
                .back_off = seconds(rng.below(40))};
  if (rng.chance(200)) spec.duration_limit = seconds(rng.between(1, 600));
  if (rng.chance(150)) spec.pools.push_back(PoolName(rng.chance(500) ? "default" : "second"));
  return spec;
}

}  // namespace moulin
