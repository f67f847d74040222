#include "server/reactor.h"

#include <doctest/doctest.h>

#include <atomic>

#include "base/codec.h"
#include "server/testing.h"

namespace moulin::testing {
namespace {

// What clients were answered, in the order in which they were.
class Answers {
 public:
  Reactor::Answer answer(std::string name) {
    return [this, name = std::move(name)](const Result<Events>& result) {
      std::lock_guard lock(mutex_);
      given_.push_back(name + ": " + std::string(result ? "done" : to_text(result.error().code)));
      changed_.notify_all();
    };
  }
  std::vector<std::string> await(size_t count) {
    std::unique_lock lock(mutex_);
    MOULIN_CHECK(changed_.wait_for(lock, kPatience, [&] { return given_.size() >= count; }), "answers come");
    return given_;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return given_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> given_;
};

using Given = std::vector<std::string>;

CommandBody submit_command(uint64_t id, const std::string& name) {
  WorkloadSpec spec = TestCluster::make_spec(name);
  return command::Submit{.workloads = {{.id = {id}, .spec = std::move(spec), .origin = {}}}};
}

CommandBody submit_command(uint64_t id) { return submit_command(id, "w" + std::to_string(id)); }

std::string bytes_of(const Reactor& reactor) { return encode(reactor.view()->state); }

}  // namespace

TEST_CASE("nothing is answered, shown or asked of the engine before it is durable") {
  TestReactor test;
  Answers answers;
  std::string before = bytes_of(*test.reactor);
  Sequence last = test.journal.last();
  test.journal.close();
  test.reactor->submit({}, submit_command(1), answers.answer("a"));
  test.journal.await_waiting();
  test.reactor->submit({}, submit_command(2), answers.answer("b"));
  CHECK(answers.count() == 0);
  CHECK(bytes_of(*test.reactor) == before);
  CHECK(test.events.after(last, 10).events.empty());
  CHECK(test.engine.start_count() == 0);

  test.journal.open();
  CHECK(answers.await(2) == Given{"a: done", "b: done"});
  CHECK(test.engine.await_starts(2)[1].key.workload == WorkloadId{2});
  CHECK(test.reactor->view()->state.workloads.size() == 2);
  CHECK(test.events.after(last, 1).events.front().sequence == last.next());
}

TEST_CASE("after a long pass the scheduler pauses, and commands go on") {
  TestReactor test;
  test.start_takes = milliseconds(10);
  WorkloadId first = test.submit(TestCluster::make_spec("first"));
  test.engine.await_starts(1);
  test.settle();
  WorkloadId second = test.submit(TestCluster::make_spec("second"));
  test.settle();
  CHECK(test.state_of(first) == WorkloadState::kStarting);
  CHECK(test.state_of(second) == WorkloadState::kWaiting);
  test.clock.advance(milliseconds(30));
  test.settle();
  test.engine.await_starts(2);
}

TEST_CASE("what no journal record can hold is refused before it happens, and nothing else is") {
  TestReactor test;
  Answers answers;
  WorkloadSpec huge = TestCluster::make_spec("huge");
  huge.argv = {std::string(static_cast<size_t>(kRecordBytesMax.count), 'x')};
  test.reactor->submit({}, command::Submit{.workloads = {{.id = {1}, .spec = huge, .origin = {}}}},
                       answers.answer("huge"));
  test.reactor->submit({}, submit_command(2), answers.answer("next"));
  CHECK(answers.await(2) == Given{"huge: too_large", "next: done"});
  CHECK(test.reactor->stats().writable);
  CHECK(test.reactor->view()->state.workloads.size() == 1);
}

TEST_CASE("answers come in the order of the commands, also of those that were refused") {
  TestReactor test({.batch_max = 3});
  Answers answers;
  Given expected;
  for (uint64_t i = 1; i <= 40; ++i) {
    bool good = i % 4 != 0;  // every fourth has the name of the one before it
    std::string name = "w" + std::to_string(good ? i : i - 1);
    test.reactor->submit({}, submit_command(i, name), answers.answer(std::to_string(i)));
    expected.push_back(std::to_string(i) + (good ? ": done" : ": conflict"));
  }
  CHECK(answers.await(40) == expected);
}

TEST_CASE("a refused command changes nothing") {
  TestReactor test;
  test.submit(TestCluster::make_spec("w1"));
  std::string before = bytes_of(*test.reactor);
  Sequence last = test.journal.last();
  Result<Events> again = test.give(submit_command(2, "w1"));
  CHECK(again.error().code == Code::kConflict);
  CHECK(test.give(command::Stop{WorkloadId{77}}).error().code == Code::kNotFound);
  CHECK(test.journal.last() == last);
  CHECK(bytes_of(*test.reactor) == before);
}

TEST_CASE("more commands than may wait are refused at once, and none of the others is lost") {
  TestReactor test({.queue_max = 5, .batch_max = 1});
  Answers answers;
  Answers refusals;
  test.journal.close();
  test.reactor->submit({}, submit_command(1), answers.answer("1"));
  test.journal.await_waiting();
  // The committer's queue takes some, the reactor's five; the last of 200 finds no place.
  for (uint64_t i = 2; i <= 200; ++i) test.reactor->submit({}, submit_command(i), refusals.answer(std::to_string(i)));
  CHECK(refusals.count() >= 1);
  for (const std::string& refusal : refusals.await(refusals.count())) CHECK(refusal.ends_with(": too_many"));
  CHECK(test.reactor->stats().refused_busy == static_cast<int64_t>(refusals.count()));
  size_t refused = refusals.count();
  test.journal.open();
  refusals.await(199);
  answers.await(1);
  test.settle();
  CHECK(test.reactor->view()->state.workloads.size() == 200 - refused);
}

TEST_CASE("when the journal cannot write, clients of that batch are told and the state is the journal's") {
  TestReactor test;
  test.submit(TestCluster::make_spec("w1"));
  std::string before = bytes_of(*test.reactor);
  test.journal.inner.fail_writes({.after = 0, .times = 1});
  Result<Events> refused = test.give(submit_command(2));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::kUnavailable);
  CHECK(bytes_of(*test.reactor) == before);
  CHECK(test.engine.start_count() == 1);

  // The probe succeeds: it goes on by itself.
  while (!test.reactor->stats().writable) std::this_thread::yield();
  test.must(submit_command(2));
  CHECK(test.engine.await_starts(2).size() == 2);
  Result<Core> replayed = recover_core(test.journal);
  CHECK(encode(replayed->state()) == bytes_of(*test.reactor));
}

TEST_CASE("batches decided before the failure and not yet written are refused too, and none comes twice") {
  TestReactor test({.batch_max = 1});
  Answers answers;
  test.journal.close();
  test.journal.inner.fail_writes({.after = 0, .times = 1});
  for (uint64_t i = 1; i <= 5; ++i) test.reactor->submit({}, submit_command(i), answers.answer(std::to_string(i)));
  test.journal.await_waiting();
  test.journal.open();
  for (const std::string& answer : answers.await(5)) CHECK(answer.ends_with(": unavailable"));
  while (!test.reactor->stats().writable) std::this_thread::yield();
  CHECK(test.reactor->view()->state.workloads.empty());
  for (uint64_t i = 1; i <= 5; ++i) test.must(submit_command(i));
  CHECK(test.engine.await_starts(5).size() == 5);
  CHECK(test.engine.start_count() == 5);
}

TEST_CASE("a report whose batch was lost is judged again when the disk is back") {
  TestReactor test({.probe_every = milliseconds(1)});
  WorkloadId id = test.submit(TestCluster::make_spec("w1"));
  ReplicaLaunch launch = test.engine.await_starts(1)[0];
  test.engine.report_started(launch);
  test.settle();
  REQUIRE(test.state_of(id) == WorkloadState::kRunning);
  test.journal.inner.fail_writes({.after = 0, .times = 4});  // the append and three probes
  test.engine.report_exited(launch, 0);
  while (test.engine.await_releases(0).empty()) test.clock.advance(milliseconds(1));
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kSucceeded);
  CHECK(test.reactor->stats().writable);
}

TEST_CASE("while nothing can be written, reads go on, clients are refused at once, and stopping does not wait") {
  TestReactor test({.probe_every = seconds(3600)});
  test.submit(TestCluster::make_spec("w1"));
  test.journal.inner.fail_writes({.after = 0, .times = 1'000'000});
  CHECK(test.give(submit_command(2)).error().code == Code::kUnavailable);
  CHECK(test.give(submit_command(3)).error().code == Code::kUnavailable);
  CHECK_FALSE(test.reactor->stats().writable);
  CHECK(test.reactor->view()->state.workloads.size() == 1);
  test.reactor->stop();
  test.journal.inner.mend();
  test.restart();
  CHECK(test.reactor->view()->state.workloads.size() == 1);
}

TEST_CASE("what the engine may not have heard is asked again by the next server, and no more than that") {
  TestReactor test;
  WorkloadId starting = test.submit(TestCluster::make_spec("starting"));
  WorkloadId running = test.submit(TestCluster::make_spec("running"));
  WorkloadId stopping = test.submit(TestCluster::make_spec("stopping"));
  WorkloadId done = test.submit(TestCluster::make_spec("done"));
  std::vector<ReplicaLaunch> launches = test.engine.await_starts(4);
  for (size_t i = 1; i < 4; ++i) test.engine.report_started(launches[i]);
  test.engine.report_exited(launches[3], 0);
  test.settle();
  test.must(command::Stop{stopping});
  REQUIRE(test.engine.await_ends(1).size() == 1);
  REQUIRE(test.state_of(running) == WorkloadState::kRunning);
  REQUIRE(test.state_of(done) == WorkloadState::kSucceeded);

  test.restart();
  std::vector<ReplicaLaunch> all = test.engine.await_starts(5);
  REQUIRE(all.size() == 5);
  CHECK(all[4] == launches[0]);
  CHECK(all[4].key.workload == starting);
  auto ends = test.engine.await_ends(2);
  REQUIRE(ends.size() == 2);
  CHECK(ends[1].key == ends[0].key);
  CHECK(ends[1].key.workload == stopping);
  CHECK(ends[1].reason == EndReason::kStop);
}

TEST_CASE("stopping while busy answers everything, once, and keeps what was answered as done") {
  TestReactor test;
  Answers answers;
  test.journal.close();
  for (uint64_t i = 1; i <= 30; ++i) test.reactor->submit({}, submit_command(i), answers.answer(std::to_string(i)));
  test.journal.await_waiting();
  std::thread stopper([&] { test.reactor->stop(); });
  test.journal.open();
  stopper.join();
  Given given = answers.await(30);
  CHECK(given.size() == 30);
  CHECK(std::ranges::all_of(given, [](const std::string& answer) { return answer.ends_with(": done"); }));
  test.reactor->submit({}, submit_command(31), answers.answer("late"));
  CHECK(answers.await(31).back() == "late: unavailable");
  test.restart();
  CHECK(test.reactor->view()->state.workloads.size() == 30);
}

TEST_CASE("a limit on the running time ends a workload when it is due") {
  TestReactor test;
  WorkloadSpec spec = TestCluster::make_spec("w1");
  spec.duration_limit = seconds(10);
  WorkloadId id = test.submit(spec);
  test.engine.report_started(test.engine.await_starts(1)[0]);
  test.settle();
  test.clock.advance(seconds(9));
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kRunning);
  test.clock.advance(seconds(1));
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kStopping);
  CHECK(test.engine.await_ends(1)[0].key.workload == id);
}

TEST_CASE("a failed workload starts again after its back-off and not before") {
  TestReactor test;
  WorkloadSpec spec = TestCluster::make_spec("w1");
  spec.retry = {.on_failed = true, .max = 1, .back_off = seconds(10)};
  WorkloadId id = test.submit(spec);
  ReplicaLaunch first = test.engine.await_starts(1)[0];
  test.engine.report_started(first);
  test.engine.report_exited(first, 1);
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kWaiting);
  test.clock.advance(seconds(9));
  test.settle();
  CHECK(test.engine.start_count() == 1);
  test.clock.advance(seconds(1));
  test.settle();
  ReplicaLaunch second = test.engine.await_starts(2)[1];
  CHECK(second.key.attempt == AttemptNumber{2});
  CHECK(second.token != first.token);
  test.engine.report_exited(second, 1);
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kFailed);
}

TEST_CASE("who waits for a minimum runtime of another is looked at when it is over, though nothing happens then") {
  TestReactor test;
  WorkloadSpec young = TestCluster::make_spec("young");
  young.resources.gpu.count = std::ssize(TestCluster::make_node("n1").gpus);
  young.min_runtime = minutes(5);
  WorkloadSpec urgent = young;
  urgent.name = "urgent";
  urgent.priority = 5;
  WorkloadId first = test.submit(young);
  test.engine.report_started(test.engine.await_starts(1)[0]);
  test.settle();
  test.submit(urgent);
  test.settle();
  test.clock.advance(minutes(4));
  test.settle();
  CHECK(test.state_of(first) == WorkloadState::kRunning);
  test.clock.advance(minutes(1));
  test.settle();
  CHECK(test.engine.await_ends(1)[0].key.workload == first);
}

TEST_CASE("a report of the first attempt does not touch the second") {
  TestReactor test;
  WorkloadSpec spec = TestCluster::make_spec("w1");
  spec.retry = {.on_failed = true, .max = 1, .back_off = {}};
  WorkloadId id = test.submit(spec);
  ReplicaLaunch first = test.engine.await_starts(1)[0];
  test.engine.report_started(first);
  test.engine.report_exited(first, 1);
  test.settle();
  ReplicaLaunch second = test.engine.await_starts(2)[1];
  test.engine.report_started(second);
  test.engine.report_exited(first, 0);
  test.settle();
  CHECK(test.state_of(id) == WorkloadState::kRunning);
}

}  // namespace moulin::testing
