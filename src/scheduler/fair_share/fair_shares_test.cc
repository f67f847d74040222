#include "scheduler/fair_share/fair_shares.h"

#include <doctest/doctest.h>

#include "scheduler/limits.h"
#include "scheduler/random_case.h"

namespace moulin {
namespace {

using testing::Cluster;
using testing::gpu_key;

int64_t share(const Cluster& cluster, const std::string& name) {
  FairShares fair = FairShares::of(cluster.state(), cluster.index(), cluster.index().room());
  return fair.share(*cluster.state().tree_node(TreeName(name)), gpu_key());
}

void submit(Cluster& cluster, const std::string& project, int64_t count, Class priority_class = Class::kTraining) {
  for (int64_t i = 0; i < count; ++i)
    cluster.submit({.project = project, .priority_class = priority_class, .devices = 1});
}

}  // namespace

TEST_CASE("the guarantee first, then by weight; what runs and what waits counts alike") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.project("a", {{gpu_key(), {.guaranteed = 2000, .weight = 3}}});
  cluster.project("b", {{gpu_key(), {.guaranteed = 2000}}});
  CHECK(share(cluster, "a") == 0);
  for (int i = 0; i < 4; ++i) cluster.running({.project = "a", .devices = 1});
  submit(cluster, "a", 4);
  submit(cluster, "b", 8);
  CHECK(share(cluster, "a") == 5000);
  CHECK(share(cluster, "b") == 3000);
  CHECK(share(cluster, kRootTree.text) == 8000);
}

TEST_CASE("departments divide among themselves first, and then each among its projects") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.department("x");
  cluster.department("y");
  for (const char* project : {"x1", "x2", "x3"}) cluster.project(project, {}, "x");
  cluster.project("y1", {}, "y");
  for (const char* project : {"x1", "x2", "x3", "y1"}) submit(cluster, project, 8);
  CHECK(share(cluster, "x") == 4000);
  CHECK(share(cluster, "y1") == 4000);
  CHECK(share(cluster, "x1") == 2000);  // the device that is left over goes to the oldest
  CHECK(share(cluster, "x2") == 1000);
  CHECK(share(cluster, "x3") == 1000);
}

TEST_CASE("demand is at most the limit, of every level") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 8});
  cluster.department("x", {{gpu_key(), {.limit = 3000}}});
  cluster.project("x1", {{gpu_key(), {.limit = 1000}}}, "x");
  cluster.project("x2", {}, "x");
  cluster.quota("default", gpu_key(), {});
  for (const char* project : {"x1", "x2", "default"}) submit(cluster, project, 8);
  CHECK(share(cluster, "x") == 3000);
  CHECK(share(cluster, "x1") == 1000);
  CHECK(share(cluster, "x2") == 2000);
  CHECK(share(cluster, "default") == 5000);
}

TEST_CASE("who is in back-off wants nothing") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.project("a");
  cluster.project("b");
  cluster.quota("default", gpu_key(), {});
  submit(cluster, "a", 4);
  WorkloadId id = cluster.submit({.project = "b", .devices = 4});
  CHECK(share(cluster, "b") == 2000);
  cluster.change_workload(id, [&](Workload& workload) { workload.eligible_from = cluster.state().now + seconds(10); });
  CHECK(share(cluster, "b") == 0);
  CHECK(share(cluster, "a") == 4000);
}

TEST_CASE("an amount of GPU memory counts as the largest share that it can take") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2, .gpu_memory = gibibytes(80)});
  cluster.submit({.gpu_memory = gibibytes(20)});
  int64_t on_large = share(cluster, "default");
  CHECK(on_large > 240);
  cluster.node({.name = "n2", .gpus = 2, .gpu_memory = gibibytes(40)});
  CHECK(share(cluster, "default") > 1.9 * static_cast<double>(on_large));
  cluster.remove_node("n2");
  CHECK(share(cluster, "default") == on_large);
}

TEST_CASE("random trees keep what is promised at every level") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    testing::RandomCase random(seed);
    for (int i = 0; i < 5; ++i) random.cluster().submit(random.random_job());
    const Cluster& cluster = random.cluster();
    const State& state = cluster.state();
    FairShares fair = FairShares::of(state, cluster.index(), cluster.index().room());
    CAPTURE(seed);
    for (const auto& [name, node] : state.tree) {
      const std::vector<TreeName>* children = cluster.index().children(name);
      if (children == nullptr) continue;
      int64_t total = 0;
      int64_t guarantees = 0;
      for (const TreeName& child : *children) {
        TreePath path = path_to_root(state, child);
        total += fair.share(*path.front(), gpu_key());
        guarantees += guaranteed(state, cluster.index(), path, 0, gpu_key());
      }
      CHECK(total <= std::max(fair.share(*node, gpu_key()), guarantees));
    }
  }
}

}  // namespace moulin
