#include "scheduler/index.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;

// Fabricates valid events in random order.
class RandomEvents {
 public:
  explicit RandomEvents(uint64_t seed) : rng_(seed) {
    cluster_.department("research");
    cluster_.project("nlp", {{testing::gpu_key(), {.guaranteed = 3000}}}, "research");
    for (int i = 0; i < 4; ++i) new_node();
  }
  void step() {
    cluster_.wait(seconds(rng_.below(1000)));
    switch (rng_.below(12)) {
      case 0: return new_node();
      case 1: return change_node();
      case 2: return change_gpu();
      case 3:
        if (rng_.chance(100)) cluster_.remove_node(any_node());
        return;
      case 4:
      case 5:
      case 6: return submit();
      case 7: return plan();
      case 8: return with(WorkloadState::kStarting, [&](WorkloadId id) { cluster_.run(id); });
      case 9: return with(WorkloadState::kRunning, [&](WorkloadId id) { end_something(id); });
      case 10: return cluster_.leave();
      case 11: return claim();
      default: return;
    }
  }
  const Cluster& cluster() const { return cluster_; }

 private:
  std::string any_node() { return fmt::format("n{}", rng_.below(nodes_)); }
  void new_node() {
    cluster_.node({.name = fmt::format("n{}", nodes_++),
                   .gpus = static_cast<int32_t>(rng_.below(5)),
                   .model = rng_.chance(500) ? "H100" : "A100",
                   .pool = rng_.chance(800) ? "default" : "other"});
  }
  void change_node() {
    std::string name = any_node();
    if (cluster_.state().node(NodeName(name)) == nullptr) return new_node();
    cluster_.change_node(name, [&](Node& node) {
      node.mode = static_cast<NodeMode>(rng_.below(3));
      node.presence = rng_.chance(800) ? Presence::kUp : Presence::kDown;
    });
  }
  void change_gpu() {
    std::string name = any_node();
    const Node* node = cluster_.state().node(NodeName(name));
    if (node == nullptr || node->gpus.empty()) return;
    cluster_.change_node(name, [&](Node& changed) {
      Gpu& gpu = changed.gpus[static_cast<size_t>(rng_.below(std::ssize(changed.gpus)))];
      gpu.health = rng_.chance(700) ? Health::kHealthy : Health::kUnhealthy;
      gpu.foreign_processes = rng_.below(2);
      gpu.foreign_memory = gibibytes(gpu.foreign_processes * rng_.below(40));
    });
  }
  void submit() {
    cluster_.submit({.project = rng_.chance(500) ? "nlp" : "default",
                     .priority_class = static_cast<Class>(rng_.below(4)),
                     .devices = rng_.below(3),
                     .share = {rng_.chance(500) ? 250 : 0},
                     .cpu = {rng_.below(8000)},
                     .replicas = 1 + rng_.below(3),
                     .replicas_max = 1 + rng_.below(5),
                     .priority = rng_.below(3)});
  }
  void plan() {
    with(WorkloadState::kWaiting, [&](WorkloadId id) { CHECK(explain(cluster_.view(), id).reasons.size() < 20); });
    Plan plan = make_plan(cluster_.view(), {});
    for (const StartItem& item : plan.starts) {
      Status holds = check_start(cluster_.view(), item);
      INFO((holds ? "" : holds.error().to_text()));
      CHECK(holds);
      cluster_.start(item);
    }
    plan.starts.clear();
    cluster_.apply(plan);
  }
  void end_something(WorkloadId id) {
    const Attempt& attempt = *cluster_.state().workload(id)->live();
    switch (rng_.below(4)) {
      case 0: return cluster_.end(id, Outcome::kSucceeded, WorkloadState::kSucceeded);
      case 1: return cluster_.end(id, Outcome::kFailed, WorkloadState::kWaiting);
      case 2: return cluster_.end_replica(id, static_cast<size_t>(rng_.below(std::ssize(attempt.replicas))));
      default: return cluster_.evict({.victim = id, .replicas = {}, .cause = Cause::kHigherClass});
    }
  }
  // On what a live workload holds, for one that waits.
  void claim() {
    with(WorkloadState::kRunning, [&](WorkloadId victim) {
      with(WorkloadState::kWaiting, [&](WorkloadId owner) {
        if (cluster_.state().claims.contains(owner)) return cluster_.release_claim(owner);
        Claim claim{.owner = owner, .places = {}, .victims = {victim}, .expires = cluster_.state().now + minutes(3)};
        for (const Replica& replica : cluster_.state().workload(victim)->attempts.back().replicas)
          claim.places.push_back({replica.index, replica.placement});
        cluster_.claim(claim);
      });
    });
  }
  template <class Use>
  void with(WorkloadState state, Use use) {
    std::vector<WorkloadId> all;
    for (const auto& [id, workload] : cluster_.state().workloads) {
      if (workload->state == state) all.push_back(id);
    }
    if (!all.empty()) use(all[static_cast<size_t>(rng_.below(std::ssize(all)))]);
  }

  Rng rng_;
  Cluster cluster_;
  int64_t nodes_ = 0;
};

TEST_CASE("an index that followed the events equals one built from the state") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomEvents events(seed);
    for (int step = 0; step < 200; ++step) {
      events.step();
      INFO("seed ", seed, ", step ", step);
      REQUIRE(events.cluster().index().equals(Index::build(events.cluster().state())));
    }
  }
}

TEST_CASE("a copy stays as it was") {
  Cluster cluster;
  cluster.node({.name = "n1"});
  Index before = cluster.index();
  WorkloadId id = cluster.running({.devices = 3});
  CHECK(cluster.is_running(id));
  CHECK(!before.equals(cluster.index()));
  CHECK(before.room().node(NodeName("n1"))->devices[0].free == kWholeDevice);
}

TEST_CASE("capacity leaves out what is down, draining or not healthy") {
  Cluster cluster;
  cluster.node({.name = "n1"});
  cluster.node({.name = "n2"});
  CHECK(cluster.index().capacity(testing::gpu_key()) == 16'000);
  cluster.change_node("n1", [](Node& node) { node.gpus[0].health = Health::kUnhealthy; });
  CHECK(cluster.index().capacity(testing::gpu_key("default", "H100")) == 15'000);
  cluster.change_node("n2", [](Node& node) { node.mode = NodeMode::kCordoned; });
  CHECK(cluster.index().capacity(testing::gpu_key()) == 15'000);
  cluster.change_node("n2", [](Node& node) { node.presence = Presence::kDown; });
  CHECK(cluster.index().capacity(testing::gpu_key()) == 7'000);
}

TEST_CASE("a leaving replica holds until it has ended") {
  Cluster cluster;
  cluster.node({.name = "n1"});
  WorkloadId id = cluster.running({.devices = 8});
  cluster.evict({.victim = id, .replicas = {}, .cause = Cause::kHigherClass});
  Amount amount = cluster.index().room().amount(kDefaultProject, testing::gpu_key());
  CHECK(amount.held == 8000);
  CHECK(amount.after == 0);
  CHECK(!cluster.is_running(cluster.running({.devices = 1})));
  cluster.leave();
  CHECK(cluster.index().room().amount(kDefaultProject, testing::gpu_key()).held == 0);
}

}  // namespace
}  // namespace moulin
