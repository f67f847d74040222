#include "scheduler/round.h"

#include <doctest/doctest.h>

#include "scheduler/random_case.h"

namespace moulin {
namespace {

using testing::Cluster;

constexpr PassBudget kTiny{.candidates_max = 1};
constexpr PassBudget kUnbounded{.candidates_max = INT64_MAX, .starts_max = INT64_MAX, .evictions_max = INT64_MAX};

// What a reactor does with a plan, as far as a round hears of it.
void apply(Cluster& cluster, Round& round, const Plan& plan) {
  cluster.apply(plan);
  auto tell = [&](EventBody body) {
    round.follow(cluster.state(), {.at = cluster.state().now, .actor = {}, .body = std::move(body)});
  };
  for (const StartItem& item : plan.starts) {
    if (item.surplus)
      tell(event::ReplicasAdded{.workload = item.workload});
    else
      tell(event::AttemptStarted{.workload = item.workload});
  }
  for (const EvictItem& item : plan.evictions) tell(event::EndAsked{.workload = item.victim});
  for (const Claim& claim : plan.claims) tell(event::ClaimMade{claim});
}

struct Done {
  std::vector<StartItem> starts{};
  bool evicted = false;
};
Done finish_all(Cluster& cluster, Round& round) {
  Done done;
  for (int slices = 0;; ++slices) {
    REQUIRE(slices < 100);
    Plan plan = round.slice(cluster.view(), kTiny);
    done.starts.insert(done.starts.end(), plan.starts.begin(), plan.starts.end());
    done.evicted |= !plan.evictions.empty();
    apply(cluster, round, plan);
    if (plan.complete) return done;
  }
}
std::vector<StartItem> finish(Cluster& cluster, Round& round) { return finish_all(cluster, round).starts; }

// A round that is done, with nobody who may have somebody leave for it.
struct Settled {
  Cluster cluster{};
  Round round{};
  Settled() {
    cluster.project("lab");
    cluster.node({.name = "n1", .gpus = 4});
    cluster.running({.devices = 2});
    for (int i = 0; i < 20; ++i) cluster.submit({.project = i % 2 == 0 ? "lab" : "default", .devices = 4});
    CHECK(slice().workloads_examined == 20);
  }
  PassCounts slice() {
    last = round.slice(cluster.view(), {});
    apply(cluster, round, last);
    return last.counts;
  }
  WorkloadId join(const testing::JobOptions& job) {
    WorkloadId id = cluster.submit(job);
    tell(event::WorkloadSubmitted{.workload = id});
    return id;
  }
  void tell(EventBody body) {
    round.follow(cluster.state(), {.at = cluster.state().now, .actor = {}, .body = std::move(body)});
  }
  Plan last{};
};

}  // namespace

TEST_CASE("a round in slices starts what one pass starts") {
  int64_t compared = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    testing::RandomCase random(seed);
    for (int i = 0; i < 6; ++i) random.cluster().submit(random.random_job());
    Plan whole = make_plan(random.cluster().view(), kUnbounded);
    Round round;
    Done done = finish_all(random.cluster(), round);
    // Who has started in one slice may be a victim in the next.
    if (done.evicted || !whole.evictions.empty()) continue;
    ++compared;
    CAPTURE(seed);
    CHECK(done.starts == whole.starts);
  }
  CHECK(compared > 100);
}

TEST_CASE("what is freed while a round goes on is given out before it is complete") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  WorkloadId running = cluster.running({.devices = 1});
  WorkloadId first = cluster.submit({.devices = 1});
  cluster.submit({.devices = 1});
  Round round;
  Plan plan;
  while (plan.waits.empty()) plan = round.slice(cluster.view(), kTiny);
  REQUIRE(plan.waits.front().workload == first);
  REQUIRE_FALSE(plan.complete);
  cluster.end(running, Outcome::kSucceeded, WorkloadState::kSucceeded);
  round.follow(cluster.state(), {.at = {}, .actor = {}, .body = event::AttemptEnded{.workload = running}});
  std::vector<StartItem> starts = finish(cluster, round);
  CHECK(starts.size() == 1);
}

TEST_CASE("who joins the queue before those that were looked at is served before the round is complete") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  for (int i = 0; i < 3; ++i) cluster.submit({.devices = 8});
  Round round;
  Plan plan;
  while (plan.waits.empty()) plan = round.slice(cluster.view(), kTiny);
  WorkloadId urgent = cluster.submit({.devices = 4, .priority = 9});
  round.follow(cluster.state(), {.at = {}, .actor = {}, .body = event::WorkloadSubmitted{.workload = urgent}});
  std::vector<StartItem> starts = finish(cluster, round);
  REQUIRE(starts.size() == 1);
  CHECK(starts.front().workload == urgent);
}

TEST_CASE("new hardware begins another round") {
  Cluster cluster;
  WorkloadId waiting = cluster.submit({.devices = 1});
  cluster.submit({.devices = 1});
  Round round;
  Plan plan;
  while (plan.waits.empty()) plan = round.slice(cluster.view(), kTiny);
  REQUIRE_FALSE(plan.complete);
  cluster.node({.name = "n1", .gpus = 1});
  round.follow(cluster.state(),
               {.at = {}, .actor = {}, .body = event::NodeRegistered{*cluster.state().node(NodeName("n1"))}});
  std::vector<StartItem> starts = finish(cluster, round);
  REQUIRE(starts.size() == 1);
  CHECK(starts.front().workload == waiting);
}

TEST_CASE("more projects than one slice puts in order are all served, those that begin to wait meanwhile, too") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 64});
  auto name = [](int i) { return fmt::format("p{:02}", i); };
  for (int i = 0; i < 60; ++i) cluster.project(name(i));
  for (int i = 0; i < 50; ++i) cluster.submit({.project = name(i), .devices = 1});
  Round round;
  Plan plan = round.slice(cluster.view(), kTiny);
  REQUIRE_FALSE(plan.complete);
  std::vector<WorkloadId> late{cluster.submit({.project = name(55), .devices = 1}),
                               cluster.submit({.project = name(3), .devices = 1})};
  for (WorkloadId id : late)
    round.follow(cluster.state(), {.at = {}, .actor = {}, .body = event::WorkloadSubmitted{.workload = id}});
  std::vector<StartItem> starts = plan.starts;
  for (bool complete = false; !complete;) {
    plan = round.slice(cluster.view(), {.candidates_max = 200});
    starts.insert(starts.end(), plan.starts.begin(), plan.starts.end());
    apply(cluster, round, plan);
    complete = plan.complete;
  }
  CHECK(starts.size() == 52);
}

TEST_CASE("when nothing was freed, a round looks only at those that joined") {
  Settled settled;
  CHECK(settled.slice().workloads_examined == 0);
  WorkloadId small = settled.join({.devices = 1});
  CHECK(settled.slice().workloads_examined == 1);
  REQUIRE(settled.last.starts.size() == 1);
  CHECK(settled.last.starts.front().workload == small);
  CHECK(settled.slice().workloads_examined == 20);  // there is less room: they may wait for another reason
  settled.join({.devices = 3});
  settled.tell(event::CheckpointWritten{.key = {.workload = small, .attempt = {1}, .replica = {}}});
  CHECK(settled.slice().workloads_examined == 1);
  CHECK(settled.last.waits.front().reasons.back() == ReasonCode::kBehind);
}

TEST_CASE("when something was freed, or an hour has passed, a round looks at everybody") {
  Settled settled;
  WorkloadId running = settled.join({.devices = 2});
  settled.slice();
  settled.slice();
  settled.cluster.end(running, Outcome::kSucceeded, WorkloadState::kSucceeded);
  settled.tell(event::AttemptEnded{.workload = running});
  CHECK(settled.slice().workloads_examined == 20);
  CHECK(settled.slice().workloads_examined == 0);
  settled.cluster.wait(hours(1));
  CHECK(settled.slice().workloads_examined == 20);
}

TEST_CASE("where several could start, the order is that of everybody") {
  Settled settled;
  settled.join({.devices = 1});
  settled.join({.project = "lab", .devices = 1});
  CHECK(settled.slice().workloads_examined == 22);
  CHECK(settled.last.starts.size() == 2);
}

TEST_CASE("who joins before those that wait changes what they wait for") {
  Settled settled;
  settled.join({.devices = 4, .priority = 5});
  settled.slice();
  auto behind = std::ranges::count_if(settled.last.waits,
                                      [](const WaitItem& item) { return item.reasons.back() == ReasonCode::kBehind; });
  CHECK(settled.last.waits.size() == 21);
  CHECK(behind == 19);
}

TEST_CASE("who may have somebody leave for it is looked at again and again") {
  Settled settled;
  settled.cluster.running({.priority_class = Class::kBatch, .devices = 1});
  settled.round.forget();
  settled.slice();
  CHECK(settled.slice().workloads_examined == 20);
}

}  // namespace moulin
