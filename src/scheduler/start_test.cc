#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

// A plan for one workload on two devices of n1, and the world changed before its turn.
template <class Change>
Status after(Change change) {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  WorkloadId id = cluster.submit({.devices = 1, .cpu = {1000}, .replicas = 2});
  Plan plan = make_plan(cluster.view(), {});
  CHECK(plan.starts.size() == 1);
  change(cluster, id);
  return check_start(cluster.view(), plan.starts[0]);
}

void take_one(Cluster& cluster, const std::string& project) {
  WorkloadId other = cluster.submit({.project = project, .devices = 1});
  Placement place{.node = NodeName("n1"), .grants = {{.gpu = GpuUuid("GPU-n1-0"), .slot = 0, .share = kWholeDevice}}};
  cluster.start({.workload = other, .replicas = {{{0}, place}}});
}

TEST_CASE("a planned start holds until something that it needs has gone") {
  CHECK(after([](Cluster&, WorkloadId) {}));
  CHECK(!after([](Cluster& cluster, WorkloadId) { take_one(cluster, "default"); }));
  CHECK(!after([](Cluster& cluster, WorkloadId) { cluster.remove_node("n1"); }));
  CHECK(!after([](Cluster& cluster, WorkloadId) { cluster.quota("default", testing::gpu_key(), {.limit = 1999}); }));
  CHECK(after([](Cluster& cluster, WorkloadId) { cluster.quota("default", testing::gpu_key(), {.limit = 2000}); }));
  auto change_node = [](auto change) {
    return after([&](Cluster& cluster, WorkloadId) { cluster.change_node("n1", change); });
  };
  CHECK(!change_node([](Node& node) { node.mode = NodeMode::kCordoned; }));
  CHECK(!change_node([](Node& node) { node.presence = Presence::kDown; }));
  CHECK(!change_node([](Node& node) { node.gpus[1].health = Health::kUnknown; }));
  CHECK(!change_node([](Node& node) { node.gpus[0].foreign_processes = 1; }));
  CHECK(!change_node([](Node& node) { node.gpus[0].uuid = GpuUuid("GPU-new"); }));
  CHECK(!change_node([](Node& node) { node.cpu = {1999}; }));
}

TEST_CASE("the claim of another stands against it, its own does not") {
  auto claim = [](Cluster& cluster, WorkloadId owner) {
    Placement place{.node = NodeName("n1"), .grants = {{.gpu = GpuUuid("GPU-n1-0"), .slot = 0, .share = kWholeDevice}}};
    cluster.claim({.owner = owner, .places = {{{0}, place}}, .victims = {}});
  };
  CHECK(after([&](Cluster& cluster, WorkloadId id) { claim(cluster, id); }));
  CHECK(!after([&](Cluster& cluster, WorkloadId) { claim(cluster, cluster.submit({.devices = 1})); }));
}

TEST_CASE("a start must be of the number of replicas that was asked for") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.submit({.devices = 1, .replicas = 2});
  StartItem item = make_plan(cluster.view(), {}).starts.at(0);
  item.replicas.pop_back();
  CHECK(!check_start(cluster.view(), item));
}

}  // namespace
}  // namespace moulin
