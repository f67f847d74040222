#include "scheduler/grow.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

size_t replicas(const Cluster& cluster, WorkloadId id) {
  return cluster.state().workload(id)->attempts.back().replicas.size();
}

TEST_CASE("elastic workloads take turns, one replica each") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 3});
  WorkloadId first = cluster.submit({.devices = 1, .replicas = 1, .replicas_max = 8});
  WorkloadId second = cluster.submit({.devices = 1, .replicas = 2, .replicas_max = 3});
  cluster.pass();
  cluster.node({.name = "n2", .gpus = 4});
  cluster.pass();
  CHECK(replicas(cluster, first) == 4);
  CHECK(replicas(cluster, second) == 3);
}

TEST_CASE("they take only what nobody who waits can use") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  WorkloadId elastic = cluster.submit({.devices = 1, .replicas = 1, .replicas_max = 8});
  cluster.pass();
  WorkloadId waiting = cluster.submit({.devices = 2});
  cluster.pass();
  CHECK(cluster.is_running(waiting));
  CHECK(replicas(cluster, elastic) == 2);
}

TEST_CASE("surplus respects limits, and nothing grows while it starts or pauses after a failure") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.quota("default", testing::gpu_key(), {.limit = 3000});
  WorkloadId id = cluster.submit({.devices = 1, .replicas = 1, .replicas_max = 8});
  cluster.apply(make_plan(cluster.view(), {}));
  CHECK(make_plan(cluster.view(), {}).starts.empty());
  cluster.run(id);
  cluster.change_workload(id, [&](Workload& workload) { workload.eligible_from = cluster.state().now + seconds(1); });
  CHECK(make_plan(cluster.view(), {}).starts.empty());
  cluster.wait(seconds(1));
  cluster.pass();
  CHECK(replicas(cluster, id) == 3);
}

TEST_CASE("a service replaces a replica that ended by itself, a job does not") {
  for (Kind kind : {Kind::kService, Kind::kJob}) {
    Cluster cluster;
    cluster.node({.name = "n1", .gpus = 3});
    WorkloadId id = cluster.running({.devices = 1, .replicas = 2, .kind = kind});
    cluster.end_replica(id, 0);
    cluster.pass();
    CHECK(replicas(cluster, id) == (kind == Kind::kService ? 3 : 2));
  }
}

TEST_CASE("a surplus replica that was asked to end may be grown again elsewhere") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId id = cluster.running({.devices = 1, .replicas = 1, .replicas_max = 2});
  cluster.pass();
  cluster.evict({.victim = id, .replicas = {{1}}, .cause = Cause::kDrain});
  cluster.leave();
  cluster.pass();
  CHECK(replicas(cluster, id) == 3);
}

}  // namespace
}  // namespace moulin
