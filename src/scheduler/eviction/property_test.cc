// Small random clusters: what a pass evicts is compared with trying everything.
#include <doctest/doctest.h>

#include "scheduler/exhaustive.h"
#include "scheduler/random_case.h"

namespace moulin {
namespace {

using testing::Cluster;
using testing::Exhaustive;
using testing::RandomCase;

// As if these had ended at once.
State without(State state, const std::vector<WorkloadId>& gone) {
  for (WorkloadId id : gone) {
    Workload& workload = state.workloads.at_mutable(id).mutate();
    for (Replica& replica : workload.attempts.back().replicas) replica.state = ReplicaState::kExited;
  }
  return state;
}

std::vector<WorkloadId> victims_of(const Plan& plan, WorkloadId beneficiary) {
  std::vector<WorkloadId> victims;
  for (const EvictItem& item : plan.evictions) {
    if (item.beneficiary == beneficiary) victims.push_back(item.victim);
  }
  return victims;
}

// Those of its own project that a production workload may end without any condition.
std::vector<WorkloadId> free_victims(const State& state, const WorkloadSpec& spec) {
  std::vector<WorkloadId> victims;
  for (const auto& [id, workload] : state.workloads) {
    bool below = is_above(spec.priority_class, workload->spec.priority_class);
    if (workload->live() != nullptr && below && workload->spec.project == spec.project) victims.push_back(id);
  }
  return victims;
}

// No device, node or limit holds more than it has, claims counted as what they become.
void check_nothing_twice(const Cluster& cluster) {
  for (const auto& [name, node] : cluster.index().room().nodes()) {
    CHECK(node->free_cpu.milli >= 0);
    for (const DeviceRoom& device : node->devices) CHECK(device.free.milli >= 0);
  }
  for (const auto& [name, tree_node] : cluster.state().tree) {
    for (const auto& [key, quota] : tree_node->quotas) {
      Amount amount = cluster.index().room().amount(name, key);
      if (quota.limit) CHECK(amount.most() <= *quota.limit);
    }
  }
}

void fill_with_batch(RandomCase& random) {
  for (int i = 0; i < 6; ++i) {
    testing::JobOptions options = random.random_job();
    options.priority_class = Class::kBatch;
    random.cluster().submit(options);
  }
  random.cluster().pass();
  random.settle();
}

TEST_CASE("evictions let their beneficiary start, spare whom they can, and are found where they exist") {
  int evicting = 0;
  int waiting = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed ", seed);
    RandomCase random(seed);
    Cluster& cluster = random.cluster();
    fill_with_batch(random);
    testing::JobOptions options = random.random_job();
    options.priority_class = static_cast<Class>(seed % 3);
    WorkloadSpec spec = testing::job(options);
    const State before = cluster.state();
    Exhaustive exhaustive(before);
    bool starts = exhaustive.starts(spec);
    WorkloadId id = cluster.submit(spec);
    Plan plan = make_plan(cluster.view(), {});
    std::vector<WorkloadId> victims = victims_of(plan, id);
    cluster.apply(plan);
    if (starts) CHECK(!plan.starts.empty());  // the newcomer, or others before it

    if (!victims.empty()) {
      ++evicting;
      CHECK(!starts);
      for (WorkloadId spared : victims) {
        std::vector<WorkloadId> others;
        for (WorkloadId victim : victims) {
          if (victim != spared) others.push_back(victim);
        }
        CHECK(!Exhaustive(without(before, others)).starts(spec));
      }
      cluster.leave();
      cluster.pass();
      CHECK(cluster.is_running(id));
      random.settle();
      check_nothing_twice(cluster);
    } else if (!starts && spec.priority_class == Class::kProduction && plan.starts.empty()) {
      ++waiting;
      CHECK(!Exhaustive(without(before, free_victims(before, spec))).starts(spec));
    }
  }
  CHECK(evicting > 30);
  CHECK(waiting > 10);
}

TEST_CASE("passes come to rest: no eviction leads back to an earlier state") {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed ", seed);
    RandomCase random(seed);
    Cluster& cluster = random.cluster();
    for (int i = 0; i < 6; ++i) cluster.submit(random.random_job());
    int rounds = 0;
    for (bool quiet = false; !quiet; ++rounds) {
      REQUIRE(rounds < 40);
      Plan plan = cluster.pass();
      quiet = plan.starts.empty() && plan.evictions.empty() && cluster.index().leaving().empty();
      cluster.leave();
    }
  }
}

}  // namespace
}  // namespace moulin
