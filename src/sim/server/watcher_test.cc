// That the watcher complains: what it watches does so in every other test.
#include "sim/server/watcher.h"

#include <doctest/doctest.h>

#include "core/testing.h"
#include "journal/memory_journal.h"

namespace moulin::sim {
namespace {

std::vector<NumberedEvent> first_events() {
  Core core;
  std::vector<NumberedEvent> numbered;
  Instant at = Instant{} + hours(1);
  for (CommandBody body : {CommandBody(command::BeginEpoch{.boot_id = "b", .wall_offset = {}, .version = "t"}),
                           CommandBody(command::RegisterNode{TestCluster::make_node("n1")})}) {
    Result<Events> events = core.execute({.actor = {}, .at = at, .body = body});
    for (const Event& event : *events) numbered.push_back({{std::ssize(numbered) + 1}, event});
  }
  return numbered;
}

}  // namespace

TEST_CASE("an event that comes twice, or leaves a gap, is seen") {
  std::vector<NumberedEvent> events = first_events();
  Watcher watcher(Depth{});
  watcher.published({events[0]});
  CHECK_FALSE(watcher.wrong());
  watcher.published({events[0]});
  REQUIRE(watcher.wrong());
  CHECK(watcher.wrong()->checker == "order");
}

TEST_CASE("an engine that is asked for what the journal does not say is seen") {
  Watcher starts(Depth{});
  starts.published(first_events());
  starts.asked_start({.key = {.workload = {5}, .attempt = {1}, .replica = {0}}, .token = "t"});
  REQUIRE(starts.wrong());
  CHECK(starts.wrong()->checker == "effect");
  Watcher ends(Depth{});
  ends.asked_end({.workload = {5}, .attempt = {1}, .replica = {0}}, "t");
  CHECK(ends.wrong());
}

TEST_CASE("a journal that has lost its end, and a state that is not its fold, are seen") {
  std::vector<NumberedEvent> events = first_events();
  Watcher watcher(Depth{});
  watcher.published(events);
  Watcher other = watcher;
  MemoryJournal journal;
  watcher.recovered(journal, State{});
  REQUIRE(watcher.wrong());
  CHECK(watcher.wrong()->checker == "durability");
  for (const NumberedEvent& event : events) {
    REQUIRE(journal.append({{.time = event.event.at,
                             .type = event_type(event.event.body),
                             .workload = event_workload(event.event.body),
                             .bytes = encode_event(event.event)}}));
  }
  other.recovered(journal, State{});
  REQUIRE(other.wrong());
  CHECK(other.wrong()->checker == "recovery");
}

TEST_CASE("readers that see another event than the newest, or an index of another state, are seen") {
  Core core;
  std::vector<NumberedEvent> events = first_events();
  for (const NumberedEvent& event : events) core.apply(event.event);
  Watcher watcher(Depth{});
  watcher.published(events);
  Watcher behind = watcher;
  watcher.published_view({core.state(), core.index()});
  CHECK_FALSE(watcher.wrong());
  watcher.published_view({core.state(), Index{}});
  REQUIRE(watcher.wrong());
  CHECK(watcher.wrong()->checker == "index");
  behind.published_view({State{}, Index{}});
  REQUIRE(behind.wrong());
  CHECK(behind.wrong()->checker == "publication");
}

}  // namespace moulin::sim
