#include <doctest/doctest.h>

#include "scheduler/eviction/search.h"
#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

struct Evicted {
  WorkloadId victim;
  Cause cause;
  bool operator==(const Evicted&) const = default;
};

std::vector<Evicted> evicted(const Plan& plan) {
  std::vector<Evicted> all;
  for (const EvictItem& item : plan.evictions) all.push_back({item.victim, item.cause});
  return all;
}

TEST_CASE("each class evicts those below it and nobody else") {
  const std::vector<Class> classes{Class::kProduction, Class::kTraining, Class::kDevelopment, Class::kBatch};
  for (Class above : classes) {
    for (Class below : classes) {
      Cluster cluster;
      cluster.node({.name = "n1", .gpus = 1});
      WorkloadId victim = cluster.running({.priority_class = below, .devices = 1});
      WorkloadId wanting = cluster.submit({.priority_class = above, .devices = 1});
      Plan plan = cluster.pass();
      INFO(to_text(above), " over ", to_text(below));
      if (!is_above(above, below)) {
        CHECK(plan.evictions.empty());
        continue;
      }
      CHECK(evicted(plan) == std::vector<Evicted>{{victim, Cause::kHigherClass}});
      REQUIRE(plan.claims.size() == 1);
      CHECK(plan.claims[0].owner == wanting);
      CHECK(plan.claims[0].expires == cluster.state().now + kGraceDefault + minutes(2));
      CHECK(cluster.pass().starts.empty());
      cluster.leave();
      CHECK(cluster.pass().starts.size() == 1);
      CHECK(cluster.is_running(wanting));
      CHECK(cluster.pass().evictions.empty());
    }
  }
}

TEST_CASE("nobody takes what is claimed") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId training = cluster.submit({.priority_class = Class::kTraining, .devices = 2});
  cluster.pass();
  WorkloadId small = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  CHECK(!cluster.is_running(small));  // the idle device is part of the claim
  cluster.leave();
  cluster.pass();
  CHECK(cluster.is_running(training));
}

TEST_CASE("a higher priority evicts inside its project and class, after min_runtime") {
  Cluster cluster;
  cluster.project("other", {{testing::gpu_key(), {.guaranteed = 1000}}});
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadSpec protected_spec = testing::job({.devices = 1, .priority = 1});
  protected_spec.min_runtime = minutes(10);
  WorkloadId low = cluster.submit(protected_spec);
  cluster.running({.project = "other", .devices = 1, .priority = 0});
  WorkloadId same = cluster.submit({.devices = 1, .priority = 1});
  CHECK(cluster.pass().evictions.empty());
  WorkloadId high = cluster.submit({.devices = 1, .priority = 2});
  CHECK(cluster.pass().evictions.empty());
  cluster.wait(minutes(10));
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{low, Cause::kHigherPriority}});
  cluster.leave();
  cluster.pass();
  CHECK(cluster.is_running(high));
  CHECK(!cluster.is_running(same));
}

TEST_CASE("min_runtime never delays a higher class") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  WorkloadSpec spec = testing::job({.priority_class = Class::kBatch, .devices = 1});
  spec.min_runtime = hours(1);
  cluster.submit(spec);
  cluster.pass();
  cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  CHECK(cluster.pass().evictions.size() == 1);
}

TEST_CASE("another project loses only what it holds above its guarantee") {
  Cluster cluster;
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 3000}}});
  cluster.project("prod", {{testing::gpu_key(), {.guaranteed = 4000}}});
  cluster.node({.name = "n1", .gpus = 4});
  WorkloadId old_pair = cluster.running({.project = "lab", .priority_class = Class::kTraining, .devices = 2});
  WorkloadId crossing = cluster.running({.project = "lab", .priority_class = Class::kBatch, .devices = 2});
  cluster.submit({.project = "prod", .priority_class = Class::kProduction, .devices = 3});
  CHECK(cluster.pass().evictions.empty());  // one more than the crossing one frees
  cluster.submit({.project = "prod", .priority_class = Class::kProduction, .devices = 1});
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{crossing, Cause::kHigherClass}});
  CHECK(cluster.is_running(old_pair));
}

TEST_CASE("its own project has no such protection") {
  Cluster cluster;
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 4000}}});
  cluster.node({.name = "n1", .gpus = 4});
  WorkloadId batch = cluster.running({.project = "lab", .priority_class = Class::kBatch, .devices = 4});
  cluster.submit({.project = "lab", .priority_class = Class::kProduction, .devices = 1});
  CHECK(evicted(cluster.pass()).size() == 1);
  CHECK(!cluster.is_running(batch));
}

TEST_CASE("the cheapest go: least GPU time lost, then fewest, then newest") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId older = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.wait(minutes(10));
  WorkloadId newer = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.wait(minutes(10));
  cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  Cluster reset = cluster;
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{newer, Cause::kHigherClass}});
  reset.change_workload(older, [&](Workload& workload) { workload.attempts.back().checkpointed = reset.state().now; });
  CHECK(evicted(reset.pass()) == std::vector<Evicted>{{older, Cause::kHigherClass}});
}

TEST_CASE("after an hour without checkpoints it costs no more, and the newest goes") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.wait(hours(5));
  WorkloadId newer = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.wait(hours(2));
  cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{newer, Cause::kHigherClass}});
}

TEST_CASE("no victim is superfluous") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  for (int i = 0; i < 3; ++i) cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.submit({.priority_class = Class::kTraining, .devices = 3});
  CHECK(cluster.pass().evictions.size() == 2);  // one device is idle
}

TEST_CASE("surplus replicas go first, one at a time, the last first") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 5});
  WorkloadId whole = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId elastic =
      cluster.running({.priority_class = Class::kBatch, .devices = 1, .replicas = 1, .replicas_max = 4});
  cluster.pass();
  CHECK(cluster.state().workload(elastic)->attempts.back().replicas.size() == 4);
  cluster.wait(hours(1));
  cluster.submit({.priority_class = Class::kTraining, .devices = 2});
  Plan plan = cluster.pass();
  REQUIRE(plan.evictions.size() == 1);
  CHECK(plan.evictions[0].victim == elastic);
  CHECK(plan.evictions[0].replicas == std::vector<ReplicaIndex>{{2}, {3}});
  CHECK(cluster.is_running(whole));
  CHECK(cluster.is_running(elastic));
}

TEST_CASE("a small request does not restart much of the cluster, production may") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.running({.priority_class = Class::kBatch, .devices = 8});
  cluster.submit({.priority_class = Class::kTraining, .devices = 3});
  CHECK(cluster.pass().evictions.empty());
  cluster.submit({.priority_class = Class::kTraining, .devices = 4});
  CHECK(cluster.pass().evictions.size() == 1);
  Cluster other;
  other.node({.name = "n1", .gpus = 8});
  other.running({.priority_class = Class::kBatch, .devices = 8});
  other.submit({.priority_class = Class::kProduction, .devices = 1});
  CHECK(other.pass().evictions.size() == 1);
}

TEST_CASE("a smaller victim is found when the cheapest disrupts too much") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.node({.name = "n2", .gpus = 1});
  WorkloadId small = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.wait(hours(1));
  cluster.running({.priority_class = Class::kBatch, .devices = 4});
  cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{small, Cause::kHigherClass}});
}

TEST_CASE("nobody is evicted when the preemptor could not start then") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.running({.priority_class = Class::kProduction, .devices = 2});
  cluster.running({.priority_class = Class::kBatch, .devices = 2});
  cluster.submit({.priority_class = Class::kTraining, .devices = 3});
  CHECK(cluster.pass().evictions.empty());
}

TEST_CASE("limits are checked net of the victims") {
  Cluster cluster;
  cluster.project("lab", {{testing::gpu_key(), {.limit = 2000}}});
  cluster.node({.name = "n1", .gpus = 4});
  cluster.node({.name = "n2", .gpus = 4});
  WorkloadId batch = cluster.running({.project = "lab", .priority_class = Class::kBatch, .devices = 2});
  WorkloadId training = cluster.submit({.project = "lab", .devices = 2});
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{batch, Cause::kHigherClass}});
  cluster.leave();
  cluster.pass();
  CHECK(cluster.is_running(training));
}

TEST_CASE("what leaves already is waited for before anybody else is evicted") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId stopped = cluster.running({.priority_class = Class::kTraining, .devices = 1});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  cluster.evict({.victim = stopped, .replicas = {}, .cause = Cause::kIdle});
  WorkloadId wanting = cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  Plan plan = cluster.pass();
  CHECK(plan.evictions.empty());
  REQUIRE(plan.claims.size() == 1);
  CHECK(plan.claims[0].victims == std::vector<WorkloadId>{stopped});
  cluster.end(stopped, Outcome::kStopped, WorkloadState::kStopped);
  cluster.pass();
  CHECK(cluster.is_running(wanting));
}

TEST_CASE("an evicted workload resumes behind the one that it made room for") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  WorkloadId batch = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId training = cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  cluster.pass();
  cluster.leave();
  Plan plan = cluster.pass();
  REQUIRE(plan.starts.size() == 1);
  CHECK(plan.starts[0].workload == training);
  cluster.end(training, Outcome::kSucceeded, WorkloadState::kSucceeded);
  cluster.pass();
  CHECK(cluster.is_running(batch));
}

TEST_CASE("a whole gang leaves, and a preemptor gang is placed whole") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.node({.name = "n2", .gpus = 2});
  WorkloadId gang = cluster.running({.priority_class = Class::kBatch, .devices = 1, .replicas = 4});
  WorkloadId training = cluster.submit({.devices = 2, .replicas = 2});
  Plan plan = cluster.pass();
  CHECK(evicted(plan) == std::vector<Evicted>{{gang, Cause::kHigherClass}});
  CHECK(plan.evictions[0].replicas.empty());
  cluster.leave();
  cluster.pass();
  CHECK(cluster.is_running(training));
}

TEST_CASE("a draining node empties itself; production gets its new place first") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId batch = cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId production = cluster.running({.priority_class = Class::kProduction, .devices = 1});
  cluster.change_node("n1", [](Node& node) { node.mode = NodeMode::kDraining; });
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{batch, Cause::kDrain}});
  cluster.leave();
  CHECK(cluster.pass().evictions.empty());
  CHECK(cluster.is_running(production));
  cluster.node({.name = "n2", .gpus = 1});
  WorkloadId quick = cluster.submit({.priority_class = Class::kTraining, .devices = 1});
  Plan plan = cluster.pass();
  CHECK(evicted(plan) == std::vector<Evicted>{{production, Cause::kDrain}});
  REQUIRE(plan.claims.size() == 1);
  CHECK(plan.claims[0].owner == production);
  CHECK(!cluster.is_running(quick));
  cluster.leave();
  cluster.pass();
  CHECK(cluster.is_running(production));
}

TEST_CASE("an unhealthy device sends away those that use it") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId first = cluster.running({.devices = 1});
  WorkloadId second = cluster.running({.devices = 1});
  cluster.change_node("n1", [](Node& node) { node.gpus[0].health = Health::kUnhealthy; });
  CHECK(evicted(cluster.pass()) == std::vector<Evicted>{{first, Cause::kUnhealthy}});
  CHECK(cluster.is_running(second));
}

}  // namespace
}  // namespace moulin
