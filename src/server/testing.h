// For the tests of this folder: a clock that a test moves, an engine that does nothing by
// itself, and a reactor with both, on a journal in memory that a test can hold up.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "boundary/clock.h"
#include "core/testing.h"
#include "journal/gated_journal.h"
#include "server/bootstrap.h"
#include "server/reactor.h"
#include "server/recovery.h"

namespace moulin::testing {

// Only a test that fails waits so long.
inline constexpr std::chrono::seconds kPatience{30};

class ManualClock final : public Clock {
 public:
  Instant now() override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  Duration wall_offset() override { return hours(400'000); }
  void advance(Duration by) {
    std::lock_guard lock(mutex_);
    now_ = now_ + by;
  }

 private:
  std::mutex mutex_;
  Instant now_ = Instant{} + hours(1);
};

// Writes down what it is asked; reports what the test says.
class FakeEngine final : public Engine {
 public:
  struct Ended {
    ReplicaKey key;
    EndReason reason = EndReason::kKill;
  };

  EngineAbilities abilities() const override { return {}; }
  void on_report(std::function<void(EngineReport)> sink) override { sink_ = std::move(sink); }
  void start(ReplicaLaunch launch) override {
    std::lock_guard lock(mutex_);
    held_[launch.key] = {.key = launch.key, .token = launch.token};
    starts_.push_back(std::move(launch));
    changed_.notify_all();
  }
  void end(ReplicaKey key, std::string, EndReason reason, Duration) override {
    std::lock_guard lock(mutex_);
    ends_.push_back({key, reason});
    changed_.notify_all();
  }
  void release(ReplicaKey key, std::string) override {
    std::lock_guard lock(mutex_);
    held_.erase(key);
    releases_.push_back(key);
    changed_.notify_all();
  }
  Held list() override {
    std::lock_guard lock(mutex_);
    Held held;
    for (const auto& [key, replica] : held_) held.replicas.push_back(replica);
    return held;
  }
  bool is_ours(int64_t) const override { return false; }
  std::function<std::unique_ptr<ExecChannel>(const ExecCommand&)> on_exec;  // set before anybody asks
  Result<std::unique_ptr<ExecChannel>> exec(const ReplicaKey&, const std::string&,
                                            const ExecCommand& command) override {
    if (on_exec) return on_exec(command);
    return Error{.code = Code::kUnavailable, .message = "nothing runs here"};
  }

  // At least so many since the beginning; the test aborts when they do not come.
  std::vector<ReplicaLaunch> await_starts(size_t count) { return await(starts_, count); }
  std::vector<Ended> await_ends(size_t count) { return await(ends_, count); }
  std::vector<ReplicaKey> await_releases(size_t count) { return await(releases_, count); }
  size_t start_count() { return await(starts_, 0).size(); }

  void report(EngineReport report) {
    if (const auto* exited = std::get_if<ReplicaExited>(&report)) {
      std::lock_guard lock(mutex_);
      if (auto held = held_.find(exited->key); held != held_.end()) held->second.exited = true;
    }
    sink_(std::move(report));
  }
  void report_started(const ReplicaLaunch& launch) {
    report(ReplicaStarted{.key = launch.key, .token = launch.token, .pid = 4711});
  }
  void report_exited(const ReplicaLaunch& launch, int32_t code) {
    report(ReplicaExited{.key = launch.key, .token = launch.token, .exit = {.code = code}, .usage = {}});
  }

 private:
  template <class Calls>
  Calls await(const Calls& calls, size_t count) {
    std::unique_lock lock(mutex_);
    bool came = changed_.wait_for(lock, kPatience, [&] { return calls.size() >= count; });
    MOULIN_CHECK(came, "the engine is asked");
    return calls;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(EngineReport)> sink_;
  std::map<ReplicaKey, HeldReplica> held_;
  std::vector<ReplicaLaunch> starts_;
  std::vector<Ended> ends_;
  std::vector<ReplicaKey> releases_;
};

// A reactor that has begun its epoch on one node with eight devices. `journal` and
// `engine` live on when it is restarted, as a disk and processes do.
class TestReactor {
 public:
  explicit TestReactor(ReactorOptions options = {}) : options_(std::move(options)) {
    open();
    must(command::RegisterNode{TestCluster::make_node("n1")});
  }
  ~TestReactor() { close(); }

  void restart() {
    close();
    open();
  }

  Result<Events> give(CommandBody body) { return moulin::give(*reactor, std::move(body)); }
  Events must(CommandBody body) {
    Result<Events> done = give(std::move(body));
    MOULIN_CHECK(done.has_value(), done ? "" : done.error().message);
    return *done;
  }
  WorkloadId submit(WorkloadSpec spec) {
    WorkloadId id{++ids_};
    must(command::Submit{.workloads = {{.id = id, .spec = std::move(spec), .origin = {}}}});
    return id;
  }
  // Everything that was reported before has been judged and is durable.
  void settle() { static_cast<void>(give(command::Stop{WorkloadId{}})); }

  const Workload workload(WorkloadId id) { return *reactor->view()->state.workload(id); }
  WorkloadState state_of(WorkloadId id) { return workload(id).state; }
  std::vector<std::string> log() {
    std::lock_guard lock(log_mutex_);
    return log_;
  }

  GatedJournal journal;
  ManualClock clock;
  FakeEngine engine;
  EventHub events;
  std::atomic<Duration> start_takes = Duration{};  // of the clock, in each pass that starts something
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Reactor> reactor;

 private:
  void open() {
    committer = std::make_unique<Committer>(journal);
    committer->start();
    Result<Core> core = recover_core(journal);
    MOULIN_CHECK(core.has_value(), "the journal is sound");
    reactor = std::make_unique<Reactor>(world(), options_, std::move(*core));
    engine.on_report([this](EngineReport report) { reactor->report(command::TakeReport{std::move(report)}); });
    reactor->start();
    must(command::BeginEpoch{.boot_id = "boot", .wall_offset = clock.wall_offset(), .version = "test"});
  }
  void close() {
    journal.open();
    reactor->stop();
    committer.reset();
    reactor.reset();
  }
  ReactorWorld world() {
    return {.journal = journal,
            .committer = *committer,
            .clock = clock,
            .engine = engine,
            .events = events,
            .identity_for =
                [this](const StartItem&) {
                  clock.advance(start_takes);
                  return command::AttemptIdentity{.token = "token-" + std::to_string(++tokens_), .rendezvous_port = 0};
                },
            .log =
                [this](std::string_view text) {
                  std::lock_guard lock(log_mutex_);
                  log_.emplace_back(text);
                }};
  }

  const ReactorOptions options_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
  uint64_t ids_ = 0;
  int64_t tokens_ = 0;  // the reactor's thread
};

}  // namespace moulin::testing
