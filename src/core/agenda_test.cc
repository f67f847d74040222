#include "core/agenda.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "core/testing.h"

namespace moulin {

namespace {

// One random command about a few workloads; many are refused, and that is fine.
void act(TestCluster& cluster, Rng& rng, std::vector<WorkloadId>& ids) {
  if (ids.empty() || rng.chance(150)) {
    WorkloadSpec spec = TestCluster::make_spec("w" + std::to_string(ids.size()));
    spec.kind = rng.chance(300) ? Kind::kService : Kind::kJob;
    spec.replicas = {.min = 1, .max = rng.between(1, 2)};
    spec.retry = {.on_failed = true, .max = 2, .back_off = seconds(rng.between(0, 50))};
    spec.duration_limit = seconds(rng.between(0, 100));
    ids.push_back(cluster.submit(spec));
    return;
  }
  WorkloadId id = ids[static_cast<size_t>(rng.below(std::ssize(ids)))];
  Claim claim{.owner = id, .places = {}, .victims = {}, .expires = cluster.now + seconds(rng.between(1, 99))};
  Exit exit{.code = static_cast<int32_t>(rng.below(2))};
  auto replica = static_cast<int32_t>(rng.below(2));
  const std::vector<CommandBody> choices{cluster.start_command(id, 1),
                                         cluster.surplus_command(id, 1),
                                         cluster.started(id, replica),
                                         cluster.exited(id, replica, exit),
                                         command::Stop{id},
                                         command::Pause{id},
                                         command::Resume{id},
                                         command::Evict{.evictions = {}, .claim = claim},
                                         command::Tick{}};
  // Starting comes more often than ending, so that something runs.
  auto choice = static_cast<size_t>(rng.chance(500) ? rng.below(3) : rng.below(std::ssize(choices)));
  (void)cluster.give(choices[choice]);
}

}  // namespace

TEST_CASE("the agenda that follows the events is the one that a rebuild gives") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    TestCluster cluster;
    std::vector<WorkloadId> ids;
    for (int step = 0; step < 300; ++step) {
      cluster.now = cluster.now + Duration{rng.below(seconds(60).us)};
      act(cluster, rng, ids);
      REQUIRE(Agenda::build(cluster.core.state()) == cluster.core.agenda());
    }
  }
}

TEST_CASE("ticks do all that is due, and then nothing is due any more") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("train");
  spec.duration_limit = seconds(60);
  WorkloadId id = cluster.submit(spec);
  CHECK_FALSE(cluster.core.agenda().next().has_value());
  cluster.run(id);
  CHECK(cluster.core.agenda().next() == cluster.now + seconds(60));
  cluster.now = cluster.now + seconds(59);
  CHECK(cluster.must(command::Tick{}).empty());
  cluster.now = cluster.now + seconds(1);
  CHECK(words_of(cluster.must(command::Tick{})) == std::vector<std::string>{"end_asked"});
  CHECK_FALSE(cluster.core.agenda().next().has_value());
  cluster.end(id, {.signal = 15});
  CHECK(cluster.core.agenda().next() == cluster.now + kFinishedKept);
  cluster.now = cluster.now + kFinishedKept;
  CHECK(words_of(cluster.must(command::Tick{})) == std::vector<std::string>{"workload_forgotten"});
  CHECK_FALSE(cluster.core.agenda().next().has_value());
}

TEST_CASE("due items come earliest first, and at most as many as asked for") {
  TestCluster cluster;
  for (int i = 0; i < 5; ++i) {
    WorkloadId id = cluster.submit(TestCluster::make_spec("w" + std::to_string(i)));
    cluster.now = cluster.now + seconds(1);
    cluster.must(command::Stop{id});
  }
  Instant later = cluster.now + kFinishedKept;
  std::vector<Due> due = cluster.core.agenda().due(later, 3);
  REQUIRE(due.size() == 3);
  CHECK(due[0].at < due[1].at);
  CHECK(due[1].at < due[2].at);
  CHECK(cluster.core.agenda().due(later, 100).size() == 5);
  CHECK(cluster.core.agenda().due(later - seconds(2), 100).size() == 3);
}

TEST_CASE("more finished workloads than are kept are forgotten, the oldest first") {
  TestCluster cluster;
  constexpr size_t kOver = 3;
  for (size_t made = 0; made < kFinishedKeptMax + kOver;) {
    command::Submit many;
    for (; many.workloads.size() < 5'000 && made < kFinishedKeptMax + kOver; ++made) {
      many.workloads.push_back({.id = {made + 1},
                                .spec = TestCluster::make_spec("w" + std::to_string(made)),
                                .origin = {.kind = OriginKind::kArray}});
    }
    cluster.must(std::move(many));
  }
  for (size_t i = 1; i <= kFinishedKeptMax + kOver; ++i) {
    if (i == kFinishedKeptMax + 1) CHECK(cluster.core.agenda().next() != Instant{});
    cluster.must(command::Stop{{i}});
  }
  CHECK(cluster.core.agenda().next() == Instant{});
  CHECK(cluster.core.agenda().surplus_finished(2) == std::vector<WorkloadId>{{1}, {2}});
  CHECK(words_of(cluster.must(command::Tick{})).size() == kOver);
  CHECK(cluster.core.state().workload({3}) == nullptr);
  CHECK(cluster.core.state().workload({4}) != nullptr);
}

}  // namespace moulin
