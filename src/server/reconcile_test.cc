#include "server/reconcile.h"

#include <doctest/doctest.h>

#include "core/testing.h"

namespace moulin {
namespace {

struct Cluster : TestCluster {
  Cluster() {
    running = submit(make_spec("running"));
    run(running);
    placed = submit(make_spec("placed"));
    start(placed);
    ended = submit(make_spec("ended"));
    run(ended);
    end(ended, {.code = 0});
  }
  WorkloadId running;
  WorkloadId placed;
  WorkloadId ended;
};

}  // namespace

TEST_CASE("an engine that holds what the state believes differs in nothing") {
  Cluster cluster;
  Differences none =
      compare(cluster.core.state(),
              {.replicas = {{cluster.key(cluster.running, 0), "token"}, {cluster.key(cluster.placed, 0), "token"}}});
  CHECK(none.reports.empty());
  CHECK(none.releases.empty());
}

TEST_CASE("a replica that ran and is not held has vanished; one that was only placed has not begun yet") {
  Cluster cluster;
  Differences found = compare(cluster.core.state(), {});
  REQUIRE(found.reports.size() == 1);
  const auto& exited = std::get<ReplicaExited>(found.reports[0]);
  CHECK(exited.key == cluster.key(cluster.running, 0));
  CHECK(exited.token == "token");
  CHECK(exited.exit.vanished);
  CHECK_FALSE(exited.exit.error.empty());

  cluster.must(command::TakeReport{exited});
  CHECK(cluster.workload(cluster.running).live() == nullptr);
}

TEST_CASE("a scan that could not see everything says nothing about what it did not see") {
  Cluster cluster;
  CHECK(compare(cluster.core.state(), {.complete = false}).reports.empty());
  CHECK(compare(cluster.core.state(), {.unsure = {cluster.key(cluster.running, 0)}}).reports.empty());
  CHECK(compare(cluster.core.state(), {.unsure = {cluster.key(cluster.placed, 0)}}).reports.size() == 1);
  // What it did see counts.
  ReplicaKey unknown{WorkloadId{999}, {1}, {0}};
  CHECK(compare(cluster.core.state(), {.replicas = {{unknown, "token"}}, .complete = false}).reports.size() == 1);
}

TEST_CASE("a held replica that exited is not taken for one that runs for nobody") {
  Cluster cluster;
  Differences found = compare(cluster.core.state(), {.replicas = {{cluster.key(cluster.running, 0), "token", true},
                                                                  {cluster.key(cluster.ended, 0), "token", true}}});
  CHECK(found.reports.empty());  // its report is under way
  REQUIRE(found.releases.size() == 1);
  CHECK(found.releases[0].key == cluster.key(cluster.ended, 0));
}

TEST_CASE("processes that the state does not know, or knows under another token, are strangers") {
  Cluster cluster;
  ReplicaKey unknown{WorkloadId{999}, {1}, {0}};
  Differences found = compare(cluster.core.state(), {.replicas = {{unknown, "token"},
                                                                  {cluster.key(cluster.running, 0), "forged"},
                                                                  {cluster.key(cluster.ended, 0), "token"}}});
  REQUIRE(found.reports.size() == 4);  // three strangers, and `running` is gone
  CHECK(std::get<StrangerFound>(found.reports[0]).key == unknown);
  CHECK(std::get<StrangerFound>(found.reports[1]).token == "forged");
  CHECK(std::get<StrangerFound>(found.reports[2]).key == cluster.key(cluster.ended, 0));
  CHECK(std::holds_alternative<ReplicaExited>(found.reports[3]));
}

}  // namespace moulin
