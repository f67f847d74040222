#include "scheduler/placement/place.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;
using testing::JobOptions;

// Where the only replica of a workload that must start went.
const Placement& place_of(const Cluster& cluster, WorkloadId id) {
  REQUIRE(cluster.is_running(id));
  return cluster.state().workload(id)->attempts.back().replicas.front().placement;
}

std::string node_of(const Cluster& cluster, WorkloadId id) { return place_of(cluster, id).node.text; }

TEST_CASE("parts fill a device that is in use before they break a free one") {
  Cluster cluster;
  cluster.node({.name = "n1"});
  cluster.node({.name = "n2"});
  WorkloadId first = cluster.running({.share = {500}});
  WorkloadId second = cluster.running({.share = {250}});
  WorkloadId third = cluster.running({.share = {250}});
  WorkloadId fourth = cluster.running({.share = {100}});
  CHECK(place_of(cluster, second).grants[0].gpu == place_of(cluster, first).grants[0].gpu);
  CHECK(place_of(cluster, third).grants[0].gpu == place_of(cluster, first).grants[0].gpu);
  CHECK(node_of(cluster, fourth) == "n1");
  CHECK(place_of(cluster, fourth).grants[0].slot == 1);
}

TEST_CASE("whole devices go where the fewest are left over, then by name") {
  Cluster cluster;
  cluster.node({.name = "big"});
  cluster.node({.name = "small-b", .gpus = 2});
  cluster.node({.name = "small-a", .gpus = 2});
  CHECK(node_of(cluster, cluster.running({.devices = 2})) == "small-a");
  CHECK(node_of(cluster, cluster.running({.devices = 4})) == "big");
}

TEST_CASE("work without GPU goes where no GPU is free") {
  Cluster cluster;
  cluster.node({.name = "a-gpu", .gpus = 4});
  cluster.node({.name = "b-cpu", .gpus = 0});
  CHECK(node_of(cluster, cluster.running({.cpu = {1000}})) == "b-cpu");
}

TEST_CASE("a share comes with the same fraction of the memory") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpu_memory = gibibytes(80)});
  CHECK(place_of(cluster, cluster.running({.share = {250}})).grants[0].memory == gibibytes(20));
}

TEST_CASE("a memory request becomes a share of the device at hand") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1, .gpu_memory = gibibytes(80)});
  WorkloadId id = cluster.running({.gpu_memory = gibibytes(20) + Bytes{1}});
  CHECK(place_of(cluster, id).grants[0].share == Share{251});
  CHECK(place_of(cluster, id).grants[0].memory == gibibytes(20) + Bytes{1});
}

TEST_CASE("every place on the first model before any on the second") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1, .model = "A100"});
  cluster.node({.name = "n2", .gpus = 8, .model = "H100"});
  JobOptions options{.devices = 1, .models = {"H100", "A100"}};
  for (int i = 0; i < 8; ++i) CHECK(node_of(cluster, cluster.running(options)) == "n2");
  CHECK(node_of(cluster, cluster.running(options)) == "n1");
}

TEST_CASE("pools in a list are one space") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8, .pool = "first"});
  cluster.node({.name = "n2", .gpus = 2, .pool = "second"});
  cluster.node({.name = "n3", .gpus = 2, .pool = "third"});
  CHECK(node_of(cluster, cluster.running({.devices = 2, .pools = {"first", "second"}})) == "n2");
  CHECK(node_of(cluster, cluster.running({.devices = 2, .pools = {"first", "second"}})) == "n1");
}

TEST_CASE("isolation: required refuses a part that is only advised") {
  Cluster cluster;
  cluster.node({.name = "n1", .isolation = Isolation::kAdvisory});
  cluster.node({.name = "n2", .isolation = Isolation::kMps});
  CHECK(node_of(cluster, cluster.running({.share = {500}, .isolation = IsolationWish::kRequired})) == "n2");
  CHECK(node_of(cluster, cluster.running({.devices = 8, .isolation = IsolationWish::kRequired})) == "n1");
}

TEST_CASE("a device with foreign processes is never given whole, and shared around them last") {
  Cluster cluster;
  Node node = testing::make_node({.name = "n1", .gpus = 2, .gpu_memory = gibibytes(80)});
  node.gpus[0].foreign_processes = 1;
  node.gpus[0].foreign_memory = gibibytes(50);
  cluster.set_node(node);
  CHECK(!cluster.is_running(cluster.running({.devices = 2})));
  WorkloadId beside = cluster.running({.share = {250}});
  CHECK(place_of(cluster, beside).grants[0].slot == 1);
  CHECK(place_of(cluster, cluster.running({.share = {750}})).grants[0].slot == 1);
  CHECK(!cluster.is_running(cluster.running({.share = {500}})));  // 40 GiB beside 50 GiB
  CHECK(place_of(cluster, cluster.running({.share = {375}})).grants[0].slot == 0);
}

TEST_CASE("nothing starts on a node that is closed or a device that is not healthy") {
  Cluster cluster;
  for (auto mode : {NodeMode::kCordoned, NodeMode::kDraining}) {
    cluster.node({.name = std::string(to_text(mode))});
    cluster.change_node(std::string(to_text(mode)), [&](Node& node) { node.mode = mode; });
  }
  cluster.node({.name = "down"});
  cluster.change_node("down", [](Node& node) { node.presence = Presence::kDown; });
  cluster.node({.name = "sick", .gpus = 2});
  cluster.change_node("sick", [](Node& node) {
    node.gpus[0].health = Health::kUnhealthy;
    node.gpus[1].health = Health::kUnknown;
  });
  CHECK(!cluster.is_running(cluster.running({.share = {10}})));
  CHECK(node_of(cluster, cluster.running({.cpu = {1000}})) == "sick");
}

TEST_CASE("CPU and memory bind, and unasked amounts do not") {
  Cluster cluster;
  cluster.node({.name = "n1", .cpu = {4000}, .memory = gibibytes(8)});
  cluster.running({.devices = 1, .cpu = {3000}, .memory = gibibytes(1)});
  CHECK(!cluster.is_running(cluster.running({.devices = 1, .cpu = {1001}})));
  CHECK(cluster.is_running(cluster.running({.devices = 1, .memory = gibibytes(7)})));
  CHECK(!cluster.is_running(cluster.running({.devices = 1, .memory = {1}})));
  CHECK(cluster.is_running(cluster.running({.devices = 1})));
}

TEST_CASE("a gang starts whole, over several nodes, or not at all") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.node({.name = "n2", .gpus = 4});
  WorkloadId gang = cluster.running({.devices = 2, .replicas = 4});
  CHECK(cluster.is_running(gang));
  Cluster small;
  small.node({.name = "n1", .gpus = 5});
  CHECK(!small.is_running(small.running({.devices = 2, .replicas = 3})));
  CHECK(small.index().room().node(NodeName("n1"))->devices[0].free == kWholeDevice);
}

TEST_CASE("all devices of one replica are of one model") {
  Cluster cluster;
  Node node = testing::make_node({.name = "mixed", .gpus = 4, .model = "A100"});
  node.gpus[0].model = ModelName("H100");
  node.gpus[1].model = ModelName("H100");
  cluster.set_node(node);
  CHECK(!cluster.is_running(cluster.running({.devices = 3})));
  WorkloadId two = cluster.running({.devices = 2});
  CHECK(place_of(cluster, two).grants[0].slot == 2);  // equal score: A100 before H100
}

TEST_CASE("parts of several devices are on different devices") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 3});
  WorkloadId id = cluster.running({.devices = 2, .share = {400}});
  CHECK(place_of(cluster, id).grants.size() == 2);
  CHECK(place_of(cluster, id).grants[0].slot != place_of(cluster, id).grants[1].slot);
  CHECK(place_of(cluster, id).gpu_total() == Share{800});
}

}  // namespace
}  // namespace moulin
