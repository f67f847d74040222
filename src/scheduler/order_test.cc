#include "scheduler/order.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

std::vector<WorkloadId> served(const Cluster& cluster) {
  Overlay overlay(cluster.view());
  ServingOrder order(overlay);
  std::vector<WorkloadId> all;
  while (auto next = order.next()) all.push_back(*next);
  return all;
}

TEST_CASE("inside a project: class, priority, age") {
  Cluster cluster;
  WorkloadId batch = cluster.submit({.priority_class = Class::kBatch, .devices = 1, .priority = 9});
  WorkloadId late = cluster.submit({.devices = 1});
  WorkloadId urgent = cluster.submit({.devices = 1, .priority = 1});
  WorkloadId production = cluster.submit({.priority_class = Class::kProduction, .devices = 1, .priority = -5});
  CHECK(served(cluster) == std::vector<WorkloadId>{production, urgent, late, batch});
}

TEST_CASE("each hour of waiting is one step of priority, up to the top of the class") {
  Cluster cluster;
  WorkloadId patient = cluster.submit({.devices = 1});
  cluster.wait(hours(3));
  WorkloadId two = cluster.submit({.devices = 1, .priority = 2});
  WorkloadId four = cluster.submit({.devices = 1, .priority = 4});
  CHECK(served(cluster) == std::vector<WorkloadId>{four, patient, two});
  cluster.wait(hours(2000));
  WorkloadId top = cluster.submit({.devices = 1, .priority = kPriorityTop});
  WorkloadId below = cluster.submit({.devices = 1, .priority = kPriorityTop - 1});
  CHECK(served(cluster) == std::vector<WorkloadId>{patient, two, four, top, below});
  WorkloadId higher_class = cluster.submit({.priority_class = Class::kProduction, .devices = 1});
  CHECK(served(cluster).front() == higher_class);
}

TEST_CASE("resumed before fresh, but not before the one that evicted it") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  WorkloadId low = cluster.running({.devices = 1, .priority = 0});
  WorkloadId fresh = cluster.submit({.devices = 1, .priority = 0});
  WorkloadId evictor = cluster.submit({.devices = 1, .priority = 1});
  cluster.pass();
  cluster.leave();
  CHECK(served(cluster) == std::vector<WorkloadId>{evictor, low, fresh});
  cluster.change_workload(low, [](Workload& workload) { workload.spec.priority = 2; });
  Plan plan = make_plan(cluster.view(), {});
  REQUIRE(plan.starts.size() == 1);
  CHECK(plan.starts[0].workload == evictor);
}

TEST_CASE("a workload in back-off is not served") {
  Cluster cluster;
  WorkloadId id = cluster.submit({.devices = 1});
  cluster.change_workload(id, [&](Workload& workload) { workload.eligible_from = cluster.state().now + seconds(10); });
  CHECK(served(cluster).empty());
  cluster.wait(seconds(10));
  CHECK(served(cluster) == std::vector<WorkloadId>{id});
}

TEST_CASE("projects inside their guarantee first, then by saturation with the next workload") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.project("small", {{testing::gpu_key(), {.guaranteed = 1000}}});
  cluster.project("large", {{testing::gpu_key(), {.guaranteed = 4000}}});
  WorkloadId small_one = cluster.submit({.project = "small", .devices = 1});
  WorkloadId small_two = cluster.submit({.project = "small", .devices = 1});
  WorkloadId large_two = cluster.submit({.project = "large", .devices = 2});
  WorkloadId free_rider = cluster.submit({.devices = 1});
  std::vector<WorkloadId> started;
  for (const StartItem& item : make_plan(cluster.view(), {}).starts) started.push_back(item.workload);
  // 1/3 of the rest; 1 of a fair share of 2, as old as 2/4 is young; what goes beyond its guarantee comes last.
  CHECK(started == std::vector<WorkloadId>{free_rider, small_one, large_two, small_two});
}

TEST_CASE("rank decides before saturation, age when all else is equal") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.quota("default", testing::gpu_key(), {});
  cluster.project("first");
  cluster.project("ranked", {{testing::gpu_key(), {.rank = 5}}});
  WorkloadId a = cluster.submit({.project = "first", .devices = 1});
  WorkloadId b = cluster.submit({.project = "ranked", .devices = 4});
  WorkloadId c = cluster.submit({.project = "default", .devices = 1});
  std::vector<WorkloadId> started;
  for (const StartItem& item : make_plan(cluster.view(), {}).starts) started.push_back(item.workload);
  CHECK(started == std::vector<WorkloadId>{b, c, a});
}

TEST_CASE("departments are compared before the projects inside them") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.department("busy", {{testing::gpu_key(), {.guaranteed = 2000}}});
  cluster.department("idle", {{testing::gpu_key(), {.guaranteed = 2000}}});
  cluster.project("busy-a", {{testing::gpu_key(), {.guaranteed = 1000}}}, "busy");
  cluster.project("busy-b", {{testing::gpu_key(), {.guaranteed = 1000}}}, "busy");
  cluster.project("idle-a", {}, "idle");
  cluster.running({.project = "busy-a", .devices = 1});
  WorkloadId of_busy = cluster.submit({.project = "busy-b", .devices = 1});
  WorkloadId of_idle = cluster.submit({.project = "idle-a", .devices = 1});
  std::vector<WorkloadId> started;
  for (const StartItem& item : make_plan(cluster.view(), {}).starts) started.push_back(item.workload);
  CHECK(started == std::vector<WorkloadId>{of_idle, of_busy});
}

TEST_CASE("ratios compare exactly") {
  CHECK(Ratio{1, 3} < Ratio{2, 5});
  CHECK(Ratio{2, 4} == Ratio{1, 2});
  CHECK(Ratio{INT64_MAX, INT64_MAX} == Ratio{1, 1});
  CHECK(Ratio{1, 0} > Ratio{INT64_MAX, 1});
}

}  // namespace
}  // namespace moulin
