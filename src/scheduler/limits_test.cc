#include "scheduler/limits.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

TEST_CASE("a limit holds at every level, for every resource, in its pool and for its model") {
  struct Case {
    const char* what;
    const char* at;
    QuotaKey key;
    int64_t limit;
  };
  const std::vector<Case> cases{
      {"project", "lab", testing::gpu_key(), 1500},
      {"department", "research", testing::gpu_key(), 1500},
      {"organisation", "organisation", testing::gpu_key(), 1500},
      {"model", "lab", testing::gpu_key("default", "H100"), 1500},
      {"cpu", "lab", {kDefaultPool, Resource::kCpu, {}}, 3999},
      {"memory", "lab", {kDefaultPool, Resource::kMemory, {}}, gibibytes(15).count},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    Cluster cluster;
    cluster.department("research");
    cluster.project("lab", {}, "research");
    cluster.node({.name = "n1"});
    cluster.quota(c.at, c.key, {.limit = c.limit});
    testing::JobOptions job{.project = "lab", .devices = 1, .cpu = {2000}, .memory = gibibytes(8)};
    CHECK(cluster.is_running(cluster.running(job)));
    CHECK(!cluster.is_running(cluster.running(job)));
    cluster.quota(c.at, c.key, {.limit = c.limit * 2});
    cluster.pass();
    CHECK(cluster.index().waiting().empty());
  }
}

TEST_CASE("a limit in one pool leaves the others") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  cluster.node({.name = "n2", .gpus = 8, .pool = "other"});
  cluster.quota("default", testing::gpu_key(), {.limit = 0});
  WorkloadId id = cluster.running({.devices = 1});
  REQUIRE(cluster.is_running(id));
  CHECK(cluster.state().workload(id)->attempts[0].replicas[0].placement.node.text == "n2");
}

TEST_CASE("production must fit inside the guarantee of each level, counting production alone") {
  Cluster cluster;
  cluster.department("research", {{testing::gpu_key(), {.guaranteed = 3000}}});
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 2000}}}, "research");
  cluster.project("other", {{testing::gpu_key(), {.guaranteed = 8000}}}, "research");
  cluster.node({.name = "n1"});
  testing::JobOptions production{.project = "lab", .priority_class = Class::kProduction, .devices = 1};
  cluster.running({.project = "lab", .devices = 4});
  CHECK(cluster.is_running(cluster.running(production)));
  CHECK(cluster.is_running(cluster.running(production)));
  CHECK(!cluster.is_running(cluster.running(production)));
  production.project = "other";
  CHECK(cluster.is_running(cluster.running(production)));
  CHECK(!cluster.is_running(cluster.running(production)));
}

TEST_CASE("production without GPU needs no guarantee") {
  Cluster cluster;
  cluster.project("lab");
  cluster.node({.name = "n1"});
  CHECK(cluster.is_running(cluster.running({.project = "lab", .priority_class = Class::kProduction, .cpu = {1000}})));
}

TEST_CASE("rest is what the guarantee above leaves when the siblings have theirs") {
  Cluster cluster;
  cluster.department("research", {{testing::gpu_key(), {.guaranteed = 5000}}});
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 2000}}}, "research");
  cluster.project("others", {{testing::gpu_key(), {.rest = true}}}, "research");
  cluster.node({.name = "n1", .gpus = 8});
  auto guarantee_of = [&](const char* name) {
    TreePath path = path_to_root(cluster.state(), TreeName(name));
    return guaranteed(cluster.state(), cluster.index(), path, 0, testing::gpu_key());
  };
  CHECK(guarantee_of("organisation") == 8000);
  CHECK(guarantee_of("default") == 3000);
  CHECK(guarantee_of("others") == 3000);
  cluster.quota("research", testing::gpu_key(), {.guaranteed = 9000});
  CHECK(guarantee_of("default") == 0);
}

TEST_CASE("what leaves still counts against a limit until it has left") {
  Cluster cluster;
  cluster.node({.name = "n1"});
  cluster.quota("default", testing::gpu_key(), {.limit = 2000});
  WorkloadId first = cluster.running({.devices = 2});
  cluster.evict({.victim = first, .replicas = {}, .cause = Cause::kIdle});
  WorkloadId second = cluster.running({.devices = 1});
  CHECK(!cluster.is_running(second));
  cluster.end(first, Outcome::kStopped, WorkloadState::kStopped);
  cluster.pass();
  CHECK(cluster.is_running(second));
}

TEST_CASE("a gang finds the packing that best fit misses when a limit forbids its first choice") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1, .model = "A100", .pool = "small"});
  cluster.node({.name = "n2", .gpus = 2, .model = "A100", .pool = "large"});
  cluster.quota("default", testing::gpu_key("small"), {.limit = 500});
  cluster.quota("default", testing::gpu_key("large"), {.limit = 1500});
  CHECK(cluster.is_running(cluster.running({.share = {500}, .replicas = 4})));
  CHECK(!cluster.is_running(cluster.running({.share = {500}})));
}

}  // namespace
}  // namespace moulin
