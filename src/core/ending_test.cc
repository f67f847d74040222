#include "core/ending.h"

#include <doctest/doctest.h>

#include "core/testing.h"

namespace moulin {

namespace {

Exit code(int32_t value) { return {.code = value}; }
Exit signal(int32_t value) { return {.signal = value}; }
Exit with(Exit exit, bool Exit::* flag) {
  exit.*flag = true;
  return exit;
}
Exit vanished() { return with({}, &Exit::vanished); }

Attempt ended(Intent intent, const std::vector<Exit>& exits) {
  Attempt attempt{.state = AttemptState::kStopping, .replicas = {}};
  attempt.intent = intent;
  for (const Exit& exit : exits) {
    Replica replica{.state = ReplicaState::kExited, .placement = {}};
    replica.exit = exit;
    attempt.replicas.push_back(replica);
  }
  return attempt;
}

}  // namespace

TEST_CASE("what the exits of an attempt come to, by what was wanted of it") {
  struct Row {
    std::vector<Exit> exits;
    // wanted: nothing, pause, preempt, fail, stop
    std::array<Outcome, 5> outcomes;
  };
  using O = Outcome;
  const std::vector<Row> table{
      {{code(0)}, {O::kSucceeded, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{code(1)}, {O::kFailed, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{signal(9)}, {O::kFailed, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{vanished()}, {O::kNodeLost, O::kPaused, O::kPreempted, O::kNodeLost, O::kStopped}},
      {{with(code(0), &Exit::done_file)}, {O::kSucceeded, O::kSucceeded, O::kSucceeded, O::kFailed, O::kStopped}},
      {{with(code(1), &Exit::done_file)}, {O::kFailed, O::kSucceeded, O::kSucceeded, O::kFailed, O::kStopped}},
      {{with(code(0), &Exit::limit_hit)}, {O::kFailed, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{code(0), code(0)}, {O::kSucceeded, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{code(0), code(1)}, {O::kFailed, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
      {{code(0), vanished()}, {O::kNodeLost, O::kPaused, O::kPreempted, O::kNodeLost, O::kStopped}},
      {{code(1), vanished()}, {O::kNodeLost, O::kPaused, O::kPreempted, O::kNodeLost, O::kStopped}},
      {{{.error = "no such program"}}, {O::kFailed, O::kPaused, O::kPreempted, O::kFailed, O::kStopped}},
  };
  const std::array intents{Intent::kNone, Intent::kPause, Intent::kPreempt, Intent::kFail, Intent::kStop};
  for (size_t row = 0; row < table.size(); ++row) {
    for (size_t i = 0; i < intents.size(); ++i) {
      CAPTURE(row);
      CAPTURE(to_text(intents[i]));
      CHECK(outcome_of(ended(intents[i], table[row].exits), std::ssize(table[row].exits)) == table[row].outcomes[i]);
    }
  }
}

TEST_CASE("a surplus replica that was asked to end does not count") {
  Attempt attempt = ended(Intent::kNone, {code(0), signal(9)});
  CHECK(outcome_of(attempt, 1) == Outcome::kFailed);
  attempt.replicas[1].end_asked = true;
  CHECK(outcome_of(attempt, 1) == Outcome::kSucceeded);
}

TEST_CASE("a surplus replica that was lost with its node does not spoil the success of the minimum") {
  Attempt attempt = ended(Intent::kNone, {code(0), vanished(), code(0)});
  CHECK(outcome_of(attempt, 2) == Outcome::kSucceeded);
  CHECK(outcome_of(attempt, 3) == Outcome::kNodeLost);
  attempt.replicas[2].exit = code(1);
  CHECK(outcome_of(attempt, 1) == Outcome::kNodeLost);
}

TEST_CASE("a gang goes on without a lost surplus replica, and not without one of its minimum") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("elastic");
  spec.replicas = {.min = 2, .max = 3};
  WorkloadId id = cluster.submit(spec);
  cluster.start(id, 3);
  for (int32_t i = 0; i < 3; ++i) cluster.must(cluster.started(id, i));
  CHECK(words_of(cluster.must(cluster.exited(id, 1, vanished()))) == std::vector<std::string>{"replica_ended"});
  SUBCASE("the others finish") {
    cluster.end(id, code(0));
    CHECK(cluster.workload(id).state == WorkloadState::kSucceeded);
  }
  SUBCASE("another is lost") {
    CHECK(words_of(cluster.must(cluster.exited(id, 0, vanished()))) ==
          std::vector<std::string>{"replica_ended", "end_asked"});
    CHECK(cluster.workload(id).live()->cause == Cause::kGangBelowMinimum);
  }
  SUBCASE("another fails") {
    CHECK(words_of(cluster.must(cluster.exited(id, 0, code(1)))) ==
          std::vector<std::string>{"replica_ended", "end_asked"});
  }
}

TEST_CASE("where a workload goes after each outcome") {
  Workload workload{.spec = TestCluster::make_spec("train")};
  workload.spec.retry = {.on_failed = true, .on_node_lost = true, .max = 2, .back_off = seconds(10)};
  workload.attempts.push_back(ended(Intent::kNone, {code(1)}));
  Instant now = Instant{} + hours(2);
  CHECK(afterwards(workload, Outcome::kSucceeded, now).next == WorkloadState::kSucceeded);
  CHECK(afterwards(workload, Outcome::kStopped, now).next == WorkloadState::kStopped);
  CHECK(afterwards(workload, Outcome::kPaused, now).next == WorkloadState::kPaused);
  Afterwards preempted = afterwards(workload, Outcome::kPreempted, now);
  CHECK(preempted.next == WorkloadState::kWaiting);
  CHECK_FALSE(preempted.counts_as_retry);
  CHECK(preempted.eligible_from == Instant{});
  for (Outcome outcome : {Outcome::kFailed, Outcome::kNodeLost}) {
    workload.retries = 0;
    Afterwards again = afterwards(workload, outcome, now);
    CHECK(again.next == WorkloadState::kWaiting);
    CHECK(again.counts_as_retry);
    CHECK(again.eligible_from == now + seconds(10));
    workload.retries = 1;
    CHECK(afterwards(workload, outcome, now).eligible_from == now + seconds(20));
    workload.retries = 2;
    CHECK(afterwards(workload, outcome, now).next == WorkloadState::kFailed);
    workload.retries = 0;
    workload.attempts.back().cause = Cause::kLimit;
    CHECK(afterwards(workload, outcome, now).next == WorkloadState::kFailed);
    workload.attempts.back().cause = Cause::kNone;
  }
  workload.spec.retry.on_failed = false;
  CHECK(afterwards(workload, Outcome::kFailed, now).next == WorkloadState::kFailed);
  CHECK(afterwards(workload, Outcome::kNodeLost, now).next == WorkloadState::kWaiting);
  workload.spec.retry.on_node_lost = false;
  CHECK(afterwards(workload, Outcome::kNodeLost, now).next == WorkloadState::kFailed);
}

TEST_CASE("the back-off doubles and stays within an hour") {
  Retry retry{.back_off = seconds(10)};
  CHECK(back_off(retry, 0) == seconds(10));
  CHECK(back_off(retry, 1) == seconds(20));
  CHECK(back_off(retry, 3) == seconds(80));
  CHECK(back_off(retry, 9) == hours(1));
  CHECK(back_off(retry, 1'000'000'000) == hours(1));
  CHECK(back_off(retry, -3) == seconds(10));
  CHECK(back_off({.back_off = {}}, 50) == Duration{});
}

TEST_CASE("what is lost is what was held since the newest checkpoint, replica by replica") {
  Instant start = Instant{} + hours(1);
  Attempt attempt{.replicas = {}};
  for (int i = 0; i < 2; ++i) {
    Replica replica{.state = ReplicaState::kRunning, .placement = {}, .placed = start};
    replica.placement.grants = {{.share = {500}}};
    attempt.replicas.push_back(replica);
  }
  attempt.replicas[1].placed = start + seconds(40);
  Instant now = start + seconds(100);
  CHECK(lost_work(attempt, now) == GpuTime{500 * 100'000 + 500 * 60'000});
  attempt.checkpointed = start + seconds(90);
  CHECK(lost_work(attempt, now) == GpuTime{2 * 500 * 10'000});
  attempt.replicas[0].state = ReplicaState::kExited;
  attempt.replicas[0].ended = start + seconds(95);
  CHECK(lost_work(attempt, now) == GpuTime{500 * 5'000 + 500 * 10'000});
  attempt.checkpointed = now;
  CHECK(lost_work(attempt, now) == GpuTime{});
}

TEST_CASE("the first member of a gang that fails takes the others with it") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("gang");
  spec.replicas = {.min = 3, .max = 3};
  WorkloadId id = cluster.submit(spec);
  cluster.run(id, 3);
  CHECK(words_of(cluster.must(cluster.exited(id, 0, code(0)))) == std::vector<std::string>{"replica_ended"});
  CHECK(words_of(cluster.must(cluster.exited(id, 1, code(1)))) ==
        std::vector<std::string>{"replica_ended", "end_asked"});
  CHECK(cluster.workload(id).live()->cause == Cause::kGangBelowMinimum);
  CHECK(words_of(cluster.must(cluster.exited(id, 2, signal(15)))) ==
        std::vector<std::string>{"replica_ended", "attempt_ended"});
  CHECK(cluster.workload(id).state == WorkloadState::kFailed);
}

TEST_CASE("a gang that is asked to leave is not failed by the way its members end") {
  for (bool pause : {true, false}) {
    TestCluster cluster;
    WorkloadSpec spec = TestCluster::make_spec("gang");
    spec.replicas = {.min = 2, .max = 2};
    WorkloadId id = cluster.submit(spec);
    cluster.run(id, 2);
    if (pause)
      cluster.must(command::Pause{id});
    else
      cluster.must(
          command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kHigherClass}}, .claim = {}});
    cluster.end(id, signal(15));
    CHECK(cluster.workload(id).attempts.back().outcome == (pause ? Outcome::kPaused : Outcome::kPreempted));
    CHECK(cluster.workload(id).state == (pause ? WorkloadState::kPaused : WorkloadState::kWaiting));
  }
}

TEST_CASE("a member that ends before the others have started does not hold them up") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("gang");
  spec.replicas = {.min = 2, .max = 2};
  WorkloadId id = cluster.submit(spec);
  cluster.start(id, 2);
  SUBCASE("its end comes first") {
    cluster.must(cluster.exited(id, 0, code(0)));
    CHECK(cluster.workload(id).state == WorkloadState::kStarting);
    cluster.must(cluster.started(id, 1));
    CHECK(cluster.workload(id).state == WorkloadState::kRunning);
  }
  SUBCASE("its end comes last, and its start never") {
    cluster.must(cluster.started(id, 1));
    CHECK(cluster.workload(id).state == WorkloadState::kStarting);
    CHECK(words_of(cluster.must(cluster.exited(id, 0, code(0)))) ==
          std::vector<std::string>{"replica_ended", "attempt_ran"});
    CHECK(cluster.workload(id).state == WorkloadState::kRunning);
  }
}

TEST_CASE("a replica of a service is replaced after a pause that grows") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("web");
  spec.kind = Kind::kService;
  spec.replicas = {.min = 2, .max = 2};
  WorkloadId id = cluster.submit(spec);
  cluster.run(id, 2);
  CHECK(words_of(cluster.must(cluster.exited(id, 0, code(1)))) == std::vector<std::string>{"replica_ended"});
  CHECK(cluster.workload(id).eligible_from == cluster.now + seconds(10));
  CHECK(cluster.outcome(cluster.surplus_command(id, 1)) == std::vector<std::string>{"conflict"});
  cluster.now = cluster.now + seconds(10);
  CHECK(words_of(cluster.must(command::Tick{})) == std::vector<std::string>{"back_off_ended"});
  cluster.must(cluster.surplus_command(id, 1));
  cluster.must(cluster.exited(id, 2, code(1)));
  CHECK(cluster.workload(id).eligible_from == cluster.now + seconds(20));
}

TEST_CASE("crashes of a replica of a service are forgiven once one has run well") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("web");
  spec.kind = Kind::kService;
  spec.replicas = {.min = 2, .max = 2};
  WorkloadId id = cluster.submit(spec);
  cluster.run(id, 2);
  auto crash_and_regrow = [&](int32_t replica) {
    cluster.must(cluster.exited(id, replica, code(1)));
    Duration pause = cluster.workload(id).eligible_from - cluster.now;
    cluster.now = cluster.now + pause;
    cluster.must(command::Tick{});
    cluster.must(cluster.surplus_command(id, 1));
    cluster.must(cluster.started(id, replica == 0 ? 2 : replica + 1));
    return pause;
  };
  CHECK(crash_and_regrow(0) == seconds(10));
  CHECK(crash_and_regrow(2) == seconds(20));
  cluster.now = cluster.now + kRanWell - seconds(1);
  CHECK(crash_and_regrow(3) == seconds(40));
  cluster.now = cluster.now + kRanWell;
  CHECK(crash_and_regrow(4) == seconds(10));
  CHECK(crash_and_regrow(5) == seconds(20));
}

TEST_CASE("a service that ran well is forgiven its reruns, a job is not") {
  for (Kind kind : {Kind::kService, Kind::kJob}) {
    TestCluster cluster;
    WorkloadSpec spec = TestCluster::make_spec("w");
    spec.kind = kind;
    spec.retry = {.on_failed = true, .max = 2, .back_off = seconds(10)};
    WorkloadId id = cluster.submit(spec);
    auto run_for = [&](Duration time) {
      cluster.run(id);
      cluster.now = cluster.now + time;
      cluster.end(id, code(1));
      Duration pause = cluster.workload(id).eligible_from - cluster.now;
      if (cluster.workload(id).state != WorkloadState::kWaiting) return Duration{};
      cluster.now = cluster.workload(id).eligible_from;
      cluster.must(command::Tick{});
      return pause;
    };
    bool service = kind == Kind::kService;
    CHECK(run_for(seconds(1)) == seconds(10));
    CHECK(run_for(kRanWell) == (service ? seconds(10) : seconds(20)));
    CHECK(cluster.workload(id).retries == (service ? 1 : 2));
    CHECK(run_for(kRanWell - seconds(1)) == (service ? seconds(20) : Duration{}));
    CHECK((cluster.workload(id).state == WorkloadState::kFailed) == !service);
    if (!service) continue;
    CHECK(run_for(seconds(1)) == Duration{});
    CHECK(cluster.workload(id).state == WorkloadState::kFailed);
  }
}

TEST_CASE("a long elastic attempt lists a bounded number of replicas and forgets no GPU time") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("elastic");
  spec.replicas = {.min = 1, .max = 2};
  spec.checkpoints = true;
  WorkloadId id = cluster.submit(spec);
  cluster.run(id);
  const int32_t rounds = 3 * static_cast<int32_t>(kEndedReplicasKept);
  for (int32_t i = 1; i <= rounds; ++i) {
    if (cluster.device % TestCluster::kDevices == 0) ++cluster.device;  // the first replica has that one
    cluster.must(cluster.surplus_command(id, 1));
    cluster.must(cluster.started(id, i));
    cluster.now = cluster.now + seconds(1);
    cluster.must(
        command::Evict{.evictions = {{.victim = id, .replicas = {{i}}, .cause = Cause::kHigherClass}}, .claim = {}});
    cluster.must(cluster.exited(id, i, code(0)));
    // Those, the first, the one that ended last, and the new one.
    CHECK(std::ssize(cluster.workload(id).live()->replicas) <= kEndedReplicasKept + 3);
    if (i == rounds - 10)
      cluster.must(command::TakeReport{CheckpointSeen{.key = cluster.key(id, 0), .token = "token"}});
  }
  const Attempt& attempt = *cluster.workload(id).live();
  CHECK(attempt.next_replica().value == rounds + 1);
  CHECK(attempt.replica({0}) != nullptr);
  CHECK(attempt.replica({1}) == nullptr);
  CHECK(cluster.outcome(cluster.exited(id, 1, code(0))) == std::vector<std::string>{"stale_reported"});
  // Each of the others held one device for a second, and so did the first one all the while.
  CHECK(lost_work(attempt, cluster.now) == GpuTime{2 * 10 * 1000 * 1000});
  cluster.must(
      command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kHigherClass}}, .claim = {}});
  cluster.end(id, code(0));
  CHECK(cluster.workload(id).held == GpuTime{int64_t{2} * rounds * 1000 * 1000});
  CHECK(cluster.workload(id).lost == GpuTime{2 * 10 * 1000 * 1000});
}

TEST_CASE("what a dropped replica held and never saved is lost with its attempt") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("web");
  spec.kind = Kind::kService;
  spec.replicas = {.min = 1, .max = 2};
  spec.retry.back_off = {};
  WorkloadId id = cluster.submit(spec);
  cluster.run(id);
  const int32_t rounds = static_cast<int32_t>(kEndedReplicasKept) + 50;
  Instant began = cluster.now;
  Duration held_by_others{};
  for (int32_t i = 1; i <= rounds; ++i) {
    if (cluster.device % TestCluster::kDevices == 0) ++cluster.device;
    cluster.must(cluster.surplus_command(id, 1));
    cluster.must(cluster.started(id, i));
    cluster.now = cluster.now + kRanWell;
    held_by_others += kRanWell;
    cluster.must(cluster.exited(id, i, code(1)));
    cluster.now = cluster.workload(id).eligible_from;
    cluster.must(command::Tick{});
  }
  CHECK(cluster.workload(id).live()->dropped.count > 40);
  Duration all = held_by_others + (cluster.now - began);
  CHECK(lost_work(*cluster.workload(id).live(), cluster.now) == gpu_time(kWholeDevice, all));
}

TEST_CASE("the time and the GPU that an attempt held are added up") {
  TestCluster cluster;
  WorkloadId id = cluster.submit(TestCluster::make_spec("train"));
  cluster.start(id);
  cluster.now = cluster.now + seconds(5);
  cluster.must(cluster.started(id, 0));
  cluster.now = cluster.now + seconds(60);
  cluster.must(
      command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kHigherClass}}, .claim = {}});
  cluster.now = cluster.now + seconds(10);
  cluster.end(id, code(0));
  const Workload& workload = cluster.workload(id);
  CHECK(workload.held == GpuTime{1000 * 75'000});
  CHECK(workload.lost == GpuTime{1000 * 75'000});
  CHECK(workload.ran == seconds(70));
  CHECK(workload.preemptions == 1);
  CHECK(workload.retries == 0);
}

}  // namespace moulin
