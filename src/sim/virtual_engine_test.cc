#include "sim/virtual_engine.h"

#include <doctest/doctest.h>

#include "sim/simulation.h"

namespace moulin {

namespace {

// A workload that was started, and what the engine then says, and when.
struct Started {
  Started() {
    Node node{.name = NodeName("n"), .cpu = {8'000}, .memory = gibibytes(64), .gpus = {}, .labels = {}};
    CHECK(simulation.give({}, command::RegisterNode{node}));
  }
  void start() {
    WorkloadSpec spec{.name = "a", .project = kDefaultProject, .argv = {"true"}, .grace = seconds(30)};
    id = simulation.new_workload_id();
    CHECK(simulation.give({}, command::Submit{.workloads = {{.id = id, .spec = spec, .origin = {}}}}));
    simulation.settle();
  }
  WorkloadState state() const { return simulation.state().workload(id)->state; }
  const Exit& exit() const { return simulation.state().workload(id)->attempts.back().replicas[0].exit; }
  Simulation simulation{Simulation::Settings{}};
  WorkloadId id{};
};

}  // namespace

TEST_CASE("without a rule replicas start and end at once") {
  Started world;
  world.start();
  CHECK(world.state() == WorkloadState::kRunning);
  CHECK(world.simulation.give({}, command::Stop{world.id}));
  world.simulation.settle();
  CHECK(world.state() == WorkloadState::kStopped);
  CHECK(world.exit().code == 0);
  CHECK(world.simulation.violation().empty());
}

TEST_CASE("a rule says when, and the grace is honoured") {
  Started world;
  world.simulation.engine().set_rule({.starts_after = seconds(3), .ends_after = seconds(20)});
  world.start();
  world.simulation.advance(seconds(2));
  CHECK(world.state() == WorkloadState::kStarting);
  world.simulation.advance(seconds(1));
  CHECK(world.state() == WorkloadState::kRunning);
  Duration until_gone = seconds(20);
  SUBCASE("in time") {}
  SUBCASE("killed") {
    world.simulation.engine().set_rule({.ends_after = seconds(40)});
    until_gone = seconds(30);
  }
  SUBCASE("deaf") {
    world.simulation.engine().set_rule({.ends = false});
    until_gone = seconds(30);
  }
  CHECK(world.simulation.give({}, command::Stop{world.id}));
  world.simulation.advance(until_gone - seconds(1));
  CHECK(world.state() == WorkloadState::kStopping);
  world.simulation.advance(seconds(1));
  CHECK(world.state() == WorkloadState::kStopped);
  CHECK(world.exit().signal.has_value() == (until_gone == seconds(30)));
}

TEST_CASE("a silent node is heard later, and then with everything") {
  Started world;
  world.simulation.engine().silence(NodeName("n"));
  world.start();
  world.simulation.advance(hours(1));
  CHECK(world.state() == WorkloadState::kStarting);
  world.simulation.engine().unsilence(NodeName("n"));
  world.simulation.advance(seconds(1));
  CHECK(world.state() == WorkloadState::kRunning);
}

TEST_CASE("reports that are doubled, late and lost come, each in the end") {
  Started world;
  world.simulation.engine().set_faults({.doubled = 1000, .late = 500, .lost = 500});
  world.start();
  world.simulation.advance(minutes(3));
  CHECK(world.state() == WorkloadState::kRunning);
  CHECK(world.simulation.give({}, command::Stop{world.id}));
  world.simulation.advance(minutes(3));
  CHECK(world.state() == WorkloadState::kStopped);
  CHECK(world.simulation.violation().empty());
}

}  // namespace moulin
