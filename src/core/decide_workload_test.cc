// Every command in every state of a workload.
#include <doctest/doctest.h>

#include <functional>

#include "base/codec.h"
#include "base/text.h"
#include "core/testing.h"

namespace moulin {

namespace {

// A way to bring a workload of one to three replicas into a state.
struct Situation {
  std::string_view name;
  std::function<void(TestCluster&, WorkloadId)> bring;
};

void ask(TestCluster& cluster, WorkloadId id, Intent intent) {
  if (intent == Intent::kPause) cluster.must(command::Pause{id});
  if (intent == Intent::kStop) cluster.must(command::Stop{id});
  if (intent == Intent::kPreempt)
    cluster.must(command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kDrain}}, .claim = {}});
  if (intent == Intent::kFail) {
    cluster.now = cluster.now + hours(8);
    cluster.must(command::Tick{});
  }
}

const std::vector<Situation>& situations() {
  using C = TestCluster;
  static const std::vector<Situation> list{
      {"waiting", [](C&, WorkloadId) {}},
      {"starting", [](C& c, WorkloadId id) { c.start(id); }},
      {"running", [](C& c, WorkloadId id) { c.run(id); }},
      {"pausing",
       [](C& c, WorkloadId id) {
         c.run(id);
         ask(c, id, Intent::kPause);
       }},
      {"preempting",
       [](C& c, WorkloadId id) {
         c.run(id);
         ask(c, id, Intent::kPreempt);
       }},
      {"failing",
       [](C& c, WorkloadId id) {
         c.run(id);
         ask(c, id, Intent::kFail);
       }},
      {"stopping",
       [](C& c, WorkloadId id) {
         c.run(id);
         ask(c, id, Intent::kStop);
       }},
      {"paused", [](C& c, WorkloadId id) { c.must(command::Pause{id}); }},
      {"succeeded",
       [](C& c, WorkloadId id) {
         c.run(id);
         c.end(id, {.code = 0});
       }},
      {"failed",
       [](C& c, WorkloadId id) {
         c.run(id);
         c.end(id, {.code = 1});
       }},
      {"stopped", [](C& c, WorkloadId id) { c.must(command::Stop{id}); }},
      {"back_off",
       [](C& c, WorkloadId id) {
         c.run(id);
         Exit gone{.error = "gone"};
         gone.vanished = true;
         c.end(id, gone);
       }},
  };
  return list;
}

CommandBody make_command(TestCluster& cluster, std::string_view word, WorkloadId id) {
  if (word == "stop") return command::Stop{id};
  if (word == "pause") return command::Pause{id};
  if (word == "resume") return command::Resume{id};
  if (word == "exec") return command::BeginExec{id};
  if (word == "start") return cluster.start_command(id, 1);
  if (word == "grow") return cluster.surplus_command(id, 1);
  if (word == "evict")
    return command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kHigherClass}}, .claim = {}};
  if (word == "shrink")
    return command::Evict{.evictions = {{.victim = id, .replicas = {{0}}, .cause = Cause::kHigherClass}}, .claim = {}};
  if (word == "claim") return command::Evict{.evictions = {}, .claim = Claim{.owner = id, .places = {}, .victims = {}}};
  if (word == "started") return cluster.started(id, 0);
  if (word == "exited") return cluster.exited(id, 0, {.code = 0});
  if (word == "checkpoint") return command::TakeReport{CheckpointSeen{.key = cluster.key(id, 0), .token = "token"}};
  if (word == "usage")
    return command::TakeReport{UsageMeasured{.key = cluster.key(id, 0), .token = "token", .usage = {}}};
  if (word == "stranger") return command::TakeReport{StrangerFound{.key = cluster.key(id, 0), .token = "token"}};
  FAIL("no such command: " << word);
  return command::Tick{};
}

struct Row {
  std::string_view command;
  // What comes of it in each situation, in their order: events, "-" for nothing, or the
  // code of a refusal.
  std::array<std::string_view, 12> comes;
};

constexpr std::string_view kNo = "conflict";
constexpr std::string_view kSo = "-";
constexpr std::string_view kAsked = "end_asked";
constexpr std::string_view kStopped = "workload_stopped";
constexpr std::string_view kPaused = "workload_paused";
constexpr std::string_view kClaim = "claim_made";
constexpr std::string_view kStale = "stale_reported";
constexpr std::string_view kSaved = "checkpoint_written";
constexpr std::string_view kUsed = "usage_recorded";
constexpr std::string_view kKill = "stranger_end_asked";
constexpr std::string_view kExec = "exec_began";
constexpr std::string_view kOver = "replica_ended attempt_ended";

// clang-format off
const std::array kTable = std::to_array<Row>({
  // waiting, starting, running, pausing, preempting, failing, stopping, paused, succeeded, failed, stopped, back_off
  {"stop",       {kStopped, kAsked, kAsked, kAsked, kAsked, kAsked, kSo, kStopped, kSo, kSo, kSo, kStopped}},
  {"pause",      {kPaused, kAsked, kAsked, kSo, "pause_asked", kNo, kNo, kSo, kNo, kNo, kNo, kPaused}},
  {"resume",     {kNo, kNo, kNo, kNo, kNo, kNo, kNo, "workload_resumed", kNo, kNo, kNo, kNo}},
  {"exec",       {kNo, kNo, kExec, kExec, kExec, kExec, kExec, kNo, kNo, kNo, kNo, kNo}},
  {"start",      {"attempt_started", kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo}},
  {"grow",       {kNo, kNo, "replicas_added", kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo}},
  {"evict",      {kNo, kAsked, kAsked, kAsked, kSo, kSo, kNo, kNo, kNo, kNo, kNo, kNo}},
  {"shrink",     {kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo}},
  {"claim",      {kClaim, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kClaim}},
  {"started",    {kStale, "replica_ran attempt_ran", kSo, kSo, kSo, kSo, kSo, kStale, kStale, kStale, kStale, kStale}},
  {"exited",     {kStale, kOver, kOver, kOver, kOver, kOver, kOver, kStale, kStale, kStale, kStale, kStale}},
  {"checkpoint", {kStale, kSaved, kSaved, kSaved, kSaved, kSaved, kSaved, kStale, kStale, kStale, kStale, kStale}},
  {"usage",      {kStale, kUsed, kUsed, kUsed, kUsed, kUsed, kUsed, kStale, kStale, kStale, kStale, kStale}},
  {"stranger",   {kKill, kSo, kSo, kSo, kSo, kSo, kSo, kKill, kKill, kKill, kKill, kKill}},
});
// clang-format on

// An elastic job of one to three replicas, with a limit that can be reached.
WorkloadSpec elastic_spec() {
  WorkloadSpec spec = TestCluster::make_spec("train");
  spec.replicas = {.min = 1, .max = 3};
  spec.duration_limit = hours(8);
  return spec;
}

}  // namespace

TEST_CASE("every command in every state has the answer of the table") {
  for (const Row& row : kTable) {
    for (size_t i = 0; i < situations().size(); ++i) {
      TestCluster cluster;
      WorkloadId id = cluster.submit(elastic_spec());
      situations()[i].bring(cluster, id);
      State before = cluster.core.state();
      std::vector<std::string> words = cluster.outcome(make_command(cluster, row.command, id));
      CAPTURE(row.command);
      CAPTURE(situations()[i].name);
      CHECK((words.empty() ? "-" : join(words, " ")) == row.comes[i]);
      bool unchanged = row.comes[i] == "-" || row.comes[i] == "conflict";
      if (unchanged) CHECK(cluster.core.state().sequence == before.sequence);
    }
  }
}

TEST_CASE("a workload that is not there is not found, and reports about it are stale") {
  TestCluster cluster;
  for (const Row& row : kTable) {
    std::vector<std::string> words = cluster.outcome(make_command(cluster, row.command, {77}));
    bool user_command = row.command == "stop" || row.command == "pause" || row.command == "resume";
    CAPTURE(row.command);
    if (user_command)
      CHECK(words == std::vector<std::string>{"not_found"});
    else
      CHECK(words.size() == 1);
    CHECK(cluster.core.state().workloads.empty());
  }
}

TEST_CASE("a stronger intent replaces a weaker one and never the reverse") {
  const std::array order{Intent::kPause, Intent::kPreempt, Intent::kFail, Intent::kStop};
  for (Intent first : order) {
    for (Intent second : order) {
      TestCluster cluster;
      WorkloadId id = cluster.submit(elastic_spec());
      cluster.run(id);
      ask(cluster, id, first);
      Result<Events> done = Events{};
      if (second == Intent::kPause) done = cluster.give(command::Pause{id});
      if (second == Intent::kStop) done = cluster.give(command::Stop{id});
      if (second == Intent::kPreempt)
        done = cluster.give(
            command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kDrain}}, .claim = {}});
      if (second == Intent::kFail && first != Intent::kFail) ask(cluster, id, second);
      CHECK(cluster.workload(id).live()->intent == std::max(first, second));
    }
  }
}

TEST_CASE("what was asked for while it ends decides where it goes") {
  using S = WorkloadState;
  // Rows: asked for first. Columns: asked for next: pause, preempt, fail, stop.
  struct Ends {
    Intent first;
    std::array<S, 4> then;
  };
  const std::array second{Intent::kPause, Intent::kPreempt, Intent::kFail, Intent::kStop};
  const std::array table = std::to_array<Ends>({
      {Intent::kPause, {S::kPaused, S::kPaused, S::kFailed, S::kStopped}},
      {Intent::kPreempt, {S::kPaused, S::kWaiting, S::kFailed, S::kStopped}},
      {Intent::kFail, {S::kFailed, S::kFailed, S::kFailed, S::kStopped}},
      {Intent::kStop, {S::kStopped, S::kStopped, S::kStopped, S::kStopped}},
  });
  for (const Ends& row : table) {
    for (size_t i = 0; i < second.size(); ++i) {
      TestCluster cluster;
      WorkloadId id = cluster.submit(elastic_spec());
      cluster.run(id);
      ask(cluster, id, row.first);
      CommandBody next = command::Tick{};
      if (second[i] == Intent::kPause) next = command::Pause{id};
      if (second[i] == Intent::kStop) next = command::Stop{id};
      if (second[i] == Intent::kPreempt)
        next = command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = Cause::kDrain}}, .claim = {}};
      if (second[i] == Intent::kFail) cluster.now = cluster.now + hours(8);
      cluster.outcome(next);  // some are refused: the first wish stands
      cluster.end(id, {.signal = 15});
      CAPTURE(to_text(row.first));
      CAPTURE(to_text(second[i]));
      CHECK(to_text(cluster.workload(id).state) == to_text(row.then[i]));
      CHECK_FALSE(cluster.workload(id).pause_wanted);
      CHECK(cluster.core.state().claims.empty());
    }
  }
}

TEST_CASE("a pause that was asked for survives all that is stronger, but a stop") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("gang");
  spec.replicas = {.min = 2, .max = 2};
  WorkloadId id = cluster.submit(spec);
  cluster.run(id, 2);
  SUBCASE("a lost member, then the pause") {
    Exit gone{.vanished = true};
    cluster.must(cluster.exited(id, 0, gone));
    CHECK(cluster.outcome(command::Pause{id}) == std::vector<std::string>{"pause_asked"});
    CHECK(cluster.outcome(command::Pause{id}).empty());
    cluster.end(id, {.signal = 15});
    CHECK(cluster.workload(id).state == WorkloadState::kPaused);
    CHECK(cluster.workload(id).eligible_from == Instant{});
    cluster.must(command::Resume{id});
    CHECK(cluster.workload(id).state == WorkloadState::kWaiting);
  }
  SUBCASE("preempted, paused, and its node drains") {
    ask(cluster, id, Intent::kPreempt);
    cluster.must(command::Pause{id});
    ask(cluster, id, Intent::kPreempt);
    cluster.end(id, {.code = 0});
    CHECK(cluster.workload(id).state == WorkloadState::kPaused);
    CHECK(cluster.workload(id).attempts.back().outcome == Outcome::kPreempted);
    CHECK(cluster.workload(id).preemptions == 1);
  }
  SUBCASE("preempted, paused, stopped") {
    ask(cluster, id, Intent::kPreempt);
    cluster.must(command::Pause{id});
    cluster.must(command::Stop{id});
    cluster.end(id, {.code = 0});
    CHECK(cluster.workload(id).state == WorkloadState::kStopped);
  }
}

TEST_CASE("a command runs beside a replica that runs, and changes nothing") {
  TestCluster cluster;
  WorkloadId id = cluster.submit(elastic_spec());
  cluster.run(id);
  cluster.must(cluster.surplus_command(id, 2));
  auto exec = [&](int32_t replica) { return cluster.outcome(command::BeginExec{id, {replica}}); };
  CHECK(exec(0) == std::vector<std::string>{"exec_began"});
  CHECK(exec(1) == std::vector<std::string>{"conflict"});  // placed, and not yet begun
  CHECK(exec(3) == std::vector<std::string>{"conflict"});
  CHECK(exec(-1) == std::vector<std::string>{"conflict"});
  std::string before = encode(cluster.workload(id));
  Events events = cluster.give(command::BeginExec{id}, "admin").value();
  CHECK(encode(cluster.workload(id)) == before);
  REQUIRE(events.size() == 1);
  const auto& began = std::get<event::ExecBegan>(events.front().body);
  CHECK(began.key == cluster.key(id, 0));
  CHECK(began.by == UserName("admin"));
  CHECK(event_workload(events.front().body) == id);
}

TEST_CASE("stale reports beyond the most of a minute are dropped") {
  TestCluster cluster;
  auto late = [&] { return cluster.must(cluster.exited({77}, 0, {.code = 0})).size(); };
  for (int64_t i = 0; i < kStaleMost; ++i) CHECK(late() == 1);
  CHECK(late() == 0);
  cluster.now = cluster.now + seconds(59);
  CHECK(late() == 0);
  cluster.now = cluster.now + seconds(1);
  for (int64_t i = 0; i < kStaleMost; ++i) CHECK(late() == 1);
  CHECK(late() == 0);
}

TEST_CASE("only surplus replicas are evicted alone, and each once") {
  TestCluster cluster;
  WorkloadId id = cluster.submit(elastic_spec());
  cluster.run(id);
  cluster.must(cluster.surplus_command(id, 2));
  auto shrink = [&](std::vector<ReplicaIndex> replicas) {
    return cluster.outcome(command::Evict{
        .evictions = {{.victim = id, .replicas = std::move(replicas), .cause = Cause::kHigherClass}}, .claim = {}});
  };
  CHECK(shrink({{0}, {1}, {2}}) == std::vector<std::string>{"conflict"});
  CHECK(shrink({{3}}) == std::vector<std::string>{"conflict"});
  CHECK(shrink({{-1}}) == std::vector<std::string>{"conflict"});
  CHECK(shrink({{2}}) == std::vector<std::string>{"replica_end_asked"});
  CHECK(shrink({{2}}).empty());
  CHECK(shrink({{1}}) == std::vector<std::string>{"replica_end_asked"});
  CHECK(shrink({{0}}) == std::vector<std::string>{"conflict"});
}

TEST_CASE("production is preempted only where its place goes away") {
  for (size_t i = 0; i < kWords<Cause>.size(); ++i) {
    auto cause = static_cast<Cause>(i);
    TestCluster cluster;
    WorkloadSpec spec = elastic_spec();
    spec.priority_class = Class::kProduction;
    WorkloadId id = cluster.submit(spec);
    cluster.run(id);
    bool allowed = cause == Cause::kDrain || cause == Cause::kUnhealthy || cause == Cause::kGangBelowMinimum;
    std::vector<std::string> words =
        cluster.outcome(command::Evict{.evictions = {{.victim = id, .replicas = {}, .cause = cause}}, .claim = {}});
    CAPTURE(to_text(cause));
    CHECK(words == std::vector<std::string>{allowed ? "end_asked" : "conflict"});
  }
}

TEST_CASE("evictions with a claim happen all or not at all") {
  TestCluster cluster;
  WorkloadId victim = cluster.submit(elastic_spec());
  cluster.run(victim);
  WorkloadId owner = cluster.submit(TestCluster::make_spec("owner"));
  Claim claim{
      .owner = owner, .places = cluster.places({0}, 1), .victims = {victim}, .expires = cluster.now + minutes(3)};
  EvictItem good{.victim = victim, .replicas = {}, .cause = Cause::kHigherClass, .beneficiary = owner};
  EvictItem gone{.victim = {99}, .replicas = {}, .cause = Cause::kHigherClass, .beneficiary = owner};
  CHECK(cluster.outcome(command::Evict{.evictions = {good, gone}, .claim = claim}) ==
        std::vector<std::string>{"conflict"});
  CHECK(cluster.outcome(command::Evict{.evictions = {good, good}, .claim = claim}) ==
        std::vector<std::string>{"conflict"});
  CHECK(cluster.workload(victim).state == WorkloadState::kRunning);
  CHECK(cluster.core.state().claims.empty());
  CHECK(cluster.outcome(command::Evict{.evictions = {good}, .claim = claim}) ==
        std::vector<std::string>{"end_asked", "claim_made"});
  CHECK(cluster.workload(victim).live()->evicted_for == owner);
  SUBCASE("the claim is let go when its owner is stopped; the victim leaves all the same") {
    cluster.must(command::Stop{owner});
    CHECK(cluster.core.state().claims.empty());
    CHECK(cluster.workload(victim).state == WorkloadState::kStopping);
  }
  SUBCASE("and when it is paused") {
    cluster.must(command::Pause{owner});
    CHECK(cluster.core.state().claims.empty());
  }
  SUBCASE("and when it expires") {
    cluster.now = cluster.now + minutes(3);
    CHECK(words_of(cluster.must(command::Tick{})) == std::vector<std::string>{"claim_released"});
  }
}

}  // namespace moulin
