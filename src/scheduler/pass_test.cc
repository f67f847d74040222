#include "scheduler/pass.h"

#include <doctest/doctest.h>

#include "scheduler/random_case.h"
#include "scheduler/round.h"

namespace moulin {
namespace {

using testing::Cluster;

std::vector<WorkloadId> started(const Plan& plan) {
  std::vector<WorkloadId> ids;
  for (const StartItem& item : plan.starts) ids.push_back(item.workload);
  return ids;
}

std::string to_text(const Plan& plan) {
  std::string text;
  for (const StartItem& item : plan.starts) {
    text += "start " + moulin::to_text(item.workload);
    for (const ReplicaPlacement& replica : item.replicas) {
      text += " " + replica.placement.node.text;
      for (const Grant& grant : replica.placement.grants) text += fmt::format("/{}:{}", grant.slot, grant.share.milli);
    }
    text += "\n";
  }
  for (const EvictItem& item : plan.evictions) text += "evict " + moulin::to_text(item.victim) + "\n";
  for (const WaitItem& item : plan.waits) {
    text += "wait " + moulin::to_text(item.workload);
    for (ReasonCode code : item.reasons) text += " " + std::string(moulin::to_text(code));
    text += "\n";
  }
  return text;
}

TEST_CASE("the same state gives the same plan, however its index came about") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    testing::RandomCase random(seed);
    for (int i = 0; i < 5; ++i) random.cluster().submit(random.random_job());
    const Cluster& cluster = random.cluster();
    Index rebuilt = Index::build(cluster.state());
    std::string first = to_text(make_plan(cluster.view(), {}));
    CHECK(first == to_text(make_plan(cluster.view(), {})));
    CHECK(first == to_text(make_plan({cluster.state(), rebuilt, cluster.state().now}, {})));
  }
}

TEST_CASE("who waits says as `why` does") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed ", seed);
    testing::RandomCase random(seed);
    WorkloadId id = random.cluster().submit(random.random_job());
    Plan plan = make_plan(random.cluster().view(), {});
    bool alone = plan.starts.empty() && plan.evictions.empty();
    for (const WaitItem& item : plan.waits) {
      if (item.workload != id || !alone) continue;
      std::vector<ReasonCode> codes;
      for (const Reason& reason : explain(random.cluster().view(), id).reasons) {
        if (codes.empty() || codes.back() != reason.code) codes.push_back(reason.code);
      }
      CHECK(item.reasons == codes);
    }
  }
}

TEST_CASE("nobody who can not start keeps back those behind") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId large = cluster.submit({.devices = 8, .priority = 9});
  WorkloadId small = cluster.submit({.devices = 1});
  Plan plan = make_plan(cluster.view(), {});
  CHECK(started(plan) == std::vector<WorkloadId>{small});
  REQUIRE(plan.waits.size() == 1);
  CHECK(plan.waits[0].workload == large);
}

TEST_CASE("a pass that reaches its bound is gone on with, and then complete") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  for (int i = 0; i < 4; ++i) cluster.submit({.devices = 16});  // let in, say, before the hardware shrank
  for (int i = 0; i < 5; ++i) cluster.submit({.devices = 1});
  Round round;
  size_t starts = 0;
  int passes = 0;
  for (bool complete = false; !complete; ++passes) {
    REQUIRE(passes < 20);
    Plan plan = round.slice(cluster.view(), {.candidates_max = 3, .starts_max = 2});
    CHECK(plan.starts.size() <= 2);
    starts += plan.starts.size();
    cluster.apply(plan);
    complete = plan.complete;
  }
  CHECK(starts == 5);
  CHECK(passes > 2);
}

TEST_CASE("evictions are bounded, too") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  for (int i = 0; i < 8; ++i) cluster.running({.priority_class = Class::kBatch, .devices = 1});
  for (int i = 0; i < 8; ++i) cluster.submit({.devices = 1});
  Plan plan = make_plan(cluster.view(), {.evictions_max = 3});
  CHECK(plan.evictions.size() == 3);
  CHECK(!plan.complete);
}

}  // namespace
}  // namespace moulin
