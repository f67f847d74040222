// Small random clusters: what a pass evicts is compared with trying everything.
#include <doctest/doctest.h>

#include <set>

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

// Who fills a guarantee before whom.
bool stands_before(const Workload& a, const Workload& b) {
  auto rank = [](const Workload& w) { return std::tuple(w.spec.priority_class, -w.spec.priority, w.submitted, w.id); };
  return rank(a) < rank(b);
}

int64_t gpu_of(const Workload& workload) {
  int64_t milli = 0;
  for (const Replica& replica : workload.attempts.back().replicas) {
    if (replica.state != ReplicaState::kExited) milli += replica.placement.gpu_total().milli;
  }
  return milli;
}

// Counted workload by workload: where a victim stood in its project when the others that were
// evicted before it or with it had left.
int64_t up_to(const State& before, const Plan& plan, const EvictItem& taken) {
  const Workload& victim = *before.workload(taken.victim);
  std::set<WorkloadId> gone;
  bool with_it = false;  // those for one beneficiary follow each other
  for (const EvictItem& item : plan.evictions) {
    bool together = item.beneficiary == taken.beneficiary;
    if (with_it && !together) break;
    with_it = together;
    if (item.victim != taken.victim) gone.insert(item.victim);
  }
  int64_t total = 0;
  for (const auto& [id, other] : before.workloads) {
    bool counts = other->live() != nullptr && other->spec.project == victim.spec.project &&
                  !stands_before(victim, *other) && !gone.contains(id);
    if (counts) total += gpu_of(*other);
  }
  return total;
}

TEST_CASE("what is taken back stands above a guarantee, and goes to who stays inside its own") {
  int taken = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed ", seed);
    Rng rng(seed);
    Cluster cluster;
    cluster.node({.name = "n1", .gpus = 3});
    cluster.node({.name = "n2", .gpus = 3});
    std::map<std::string, int64_t> guarantees;
    for (const char* name : {"a", "b", "c"}) {
      guarantees[name] = rng.between(0, 3) * 1000;
      cluster.project(name, {{testing::gpu_key(), {.guaranteed = guarantees[name]}}});
    }
    auto job = [&](const char* project) {
      return testing::JobOptions{.project = project,
                                 .priority_class = static_cast<Class>(rng.between(1, 3)),
                                 .devices = rng.between(1, 2),
                                 .replicas = rng.chance(700) ? 1 : 2,
                                 .priority = rng.below(2)};
    };
    for (int i = 0; i < 5; ++i) {
      cluster.submit(job(rng.chance(500) ? "a" : "b"));
      cluster.pass();
      cluster.leave();
    }
    State before = cluster.state();
    WorkloadId id = cluster.submit(job("c"));
    Plan plan = make_plan(cluster.view(), {});
    const WorkloadSpec& spec = cluster.state().workload(id)->spec;
    bool inside = spec.resources.gpu.count * 1000 * spec.replicas.min <= guarantees["c"];
    bool any = false;
    for (const EvictItem& item : plan.evictions) {
      if (item.beneficiary != id || item.cause != Cause::kGuaranteeReclaim) continue;
      any = true;
      const Workload& victim = *before.workload(item.victim);
      CHECK(inside);
      CHECK(up_to(before, plan, item) > guarantees[victim.spec.project.text]);
    }
    taken += any ? 1 : 0;
    cluster.apply(plan);
    cluster.leave();
    cluster.pass();
    if (any) CHECK(cluster.is_running(id));
  }
  CHECK(taken > 30);
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
