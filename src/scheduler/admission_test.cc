#include "scheduler/admission.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;
using testing::JobOptions;

struct Refusal {
  const char* what;
  JobOptions job;
  const char* field;
  const char* allowed;
};

TEST_CASE("what never fits is refused, with the largest there is") {
  Cluster cluster;
  cluster.node({.name = "n1",
                .gpus = 8,
                .model = "H100",
                .gpu_memory = gibibytes(80),
                .cpu = {64'000},
                .memory = gibibytes(512)});
  cluster.node({.name = "n2",
                .gpus = 4,
                .model = "A100",
                .gpu_memory = gibibytes(40),
                .cpu = {128'000},
                .memory = gibibytes(256)});
  cluster.change_node("n1", [](Node& node) { node.presence = Presence::kDown; });
  const std::vector<Refusal> refusals{
      {"devices", {.devices = 9}, "resources.gpu", "at most 8 on the largest node"},
      {"gpu memory",
       {.gpu_memory = gibibytes(81)},
       "resources.gpu.memory",
       "at most 80GiB, the usable memory of the largest device"},
      {"model", {.devices = 1, .models = {"B200"}}, "resources.gpu_model", "A100, H100"},
      {"devices of a model", {.devices = 5, .models = {"A100"}}, "resources.gpu", "at most 4 on the largest node"},
      {"isolation",
       {.share = {500}, .isolation = IsolationWish::kRequired},
       "resources.isolation",
       "any, or a whole device"},
      {"cpu", {.cpu = {128'001}}, "resources.cpu", "at most 128, on the largest node"},
      {"memory", {.memory = gibibytes(513)}, "resources.memory", "at most 512GiB, on the largest node"},
      {"together", {.devices = 8, .cpu = {65'000}}, "resources", "each fits some node, but never all on the same one"},
      {"gang", {.devices = 4, .replicas = 4}, "replicas", "at most 3 of this size"},
      {"pool", {.devices = 1, .pools = {"moon"}}, "pools", "default"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.what);
    Status status = check_admission(cluster.view(), testing::job(refusal.job));
    REQUIRE(!status);
    CHECK(status.error().code == Code::kRefused);
    CHECK(status.error().field == refusal.field);
    CHECK(status.error().allowed == refusal.allowed);
    CHECK(!status.error().to_do.empty());
  }
}

TEST_CASE("what is only taken, down or unhealthy now is let in") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.devices = 2});
  cluster.change_node("n1", [](Node& node) {
    node.presence = Presence::kDown;
    node.gpus[0].health = Health::kUnhealthy;
    node.gpus[1].foreign_processes = 3;
  });
  CHECK(check_admission(cluster.view(), testing::job({.devices = 2})));
  CHECK(!check_admission(cluster.view(), testing::job({.devices = 2, .replicas = 2})));
}

TEST_CASE("nothing fits where no node is registered") {
  Cluster cluster;
  Status status = check_admission(cluster.view(), testing::job({.cpu = {1000}}));
  REQUIRE(!status);
  CHECK(status.error().message == "no node is registered");
}

TEST_CASE("alone above a limit of the project or of an ancestor is refused") {
  Cluster cluster;
  cluster.department("research", {{testing::gpu_key(), {.limit = 4000}}});
  cluster.project("lab", {{testing::gpu_key(), {.limit = 6000}}}, "research");
  cluster.node({.name = "n1"});
  CHECK(check_admission(cluster.view(), testing::job({.project = "lab", .devices = 4})));
  Status status = check_admission(cluster.view(), testing::job({.project = "lab", .devices = 5}));
  REQUIRE(!status);
  CHECK(status.error().message == "alone above the limit of department research");
  CHECK(status.error().given == "5 GPUs in all");
  CHECK(status.error().allowed == "at most 4 GPUs in pool default");
  status = check_admission(cluster.view(), testing::job({.project = "lab", .devices = 1, .replicas = 7}));
  REQUIRE(!status);
  CHECK(status.error().message == "alone above the limit of project lab");
}

TEST_CASE("another pool or model may hold what a limit keeps out of the first") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4, .model = "H100"});
  cluster.node({.name = "n2", .gpus = 4, .model = "A100"});
  cluster.node({.name = "n3", .gpus = 4, .model = "A100", .pool = "other"});
  cluster.quota("default", testing::gpu_key("default", "H100"), {.limit = 0});
  CHECK(!check_admission(cluster.view(), testing::job({.devices = 1, .models = {"H100"}})));
  CHECK(check_admission(cluster.view(), testing::job({.devices = 1, .models = {"H100", "A100"}})));
  cluster.quota("default", testing::gpu_key(), {.limit = 1000});
  CHECK(check_admission(cluster.view(), testing::job({.devices = 4})));
  CHECK(!check_admission(cluster.view(), testing::job({.devices = 4, .pools = {"default"}})));
}

}  // namespace
}  // namespace moulin
