// For tests: small random clusters of at most 6 GPUs and 8 workloads, with everything in
// them that can block.
#pragma once

#include "base/rng.h"
#include "scheduler/testing.h"

namespace moulin::testing {

class RandomCase {
 public:
  explicit RandomCase(uint64_t seed) : rng_(seed) {
    std::map<QuotaKey, Quota> department;
    if (rng_.chance(300)) department[gpu_key()].limit = rng_.between(1, 6) * 500;
    if (!department.empty() || rng_.chance(300)) department[gpu_key()].guaranteed = rng_.between(0, 4) * 1000;
    cluster_.department("research", department);
    cluster_.project("lab", lab_quotas(), "research");
    add_nodes();
    auto others = rng_.below(8);
    for (int64_t i = 0; i < others; ++i) cluster_.running(random_job());
    settle();
  }
  Cluster& cluster() { return cluster_; }
  // Nothing leaves and nothing is claimed.
  void settle() {
    cluster_.leave();
    std::vector<WorkloadId> owners;
    for (const auto& [owner, claim] : cluster_.state().claims) owners.push_back(owner);
    for (WorkloadId owner : owners) cluster_.release_claim(owner);
  }
  JobOptions random_job() {
    JobOptions job{.project = rng_.chance(600) ? "lab" : "default",
                   .priority_class = static_cast<Class>(rng_.below(4)),
                   .replicas = rng_.chance(600) ? 1 : rng_.between(2, 3)};
    switch (rng_.below(5)) {
      case 0: break;
      case 1: job.devices = rng_.between(1, 3); break;
      case 2: job.share = {rng_.between(1, 19) * 50}; break;
      case 3: job.gpu_memory = mebibytes(rng_.between(1, 20) * 10); break;
      default: job.devices = 2; job.share = {rng_.between(1, 9) * 100};
    }
    if (rng_.chance(400)) job.cpu = {rng_.between(1, 6) * 500};
    if (rng_.chance(300)) job.memory = gibibytes(rng_.between(1, 4));
    if (rng_.chance(400)) job.models.push_back(rng_.chance(500) ? "H100" : "A100");
    if (rng_.chance(150)) job.pools = {rng_.chance(700) ? "default" : "other"};
    if (rng_.chance(100)) job.isolation = IsolationWish::kRequired;
    job.priority = rng_.below(3);
    return job;
  }

 private:
  std::map<QuotaKey, Quota> lab_quotas() {
    std::map<QuotaKey, Quota> quotas;
    if (rng_.chance(300)) quotas[gpu_key()].limit = rng_.between(1, 8) * 250;
    if (rng_.chance(500)) quotas[gpu_key()].guaranteed = rng_.between(0, 3) * 1000;
    if (rng_.chance(200)) quotas[gpu_key("default", "A100")].limit = rng_.between(0, 2) * 500;
    if (rng_.chance(200)) quotas[{kDefaultPool, Resource::kCpu, {}}].limit = rng_.between(1, 6) * 500;
    if (rng_.chance(100))
      quotas[{kDefaultPool, Resource::kMemory, {}}].guaranteed = gibibytes(rng_.between(1, 3)).count;
    return quotas;
  }
  void add_nodes() {
    int64_t left = 6;
    for (int i = 0; i < 4 && left > 0; ++i) {
      auto gpus = static_cast<int32_t>(rng_.between(0, std::min<int64_t>(left, 3)));
      left -= gpus;
      Node node = make_node({.name = fmt::format("n{}", i),
                             .gpus = gpus,
                             .model = rng_.chance(500) ? "H100" : "A100",
                             .gpu_memory = mebibytes(200),
                             .cpu = {rng_.between(2, 8) * 500},
                             .memory = gibibytes(rng_.between(2, 6)),
                             .pool = rng_.chance(800) ? "default" : "other"});
      for (Gpu& gpu : node.gpus) {
        if (rng_.chance(150)) gpu.model = ModelName(gpu.model.text == "H100" ? "A100" : "H100");
        if (rng_.chance(300)) gpu.isolation = Isolation::kMps;
        if (rng_.chance(100)) gpu.health = Health::kUnhealthy;
        gpu.foreign_processes = rng_.chance(100) ? 1 : 0;
        gpu.foreign_memory = mebibytes(gpu.foreign_processes * rng_.between(20, 150));
      }
      if (rng_.chance(100)) node.mode = NodeMode::kCordoned;
      cluster_.set_node(node);
    }
  }
  Rng rng_;
  Cluster cluster_;
};

}  // namespace moulin::testing
