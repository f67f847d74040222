#include "server/event_hub.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

std::vector<NumberedEvent> numbered(int64_t first, int64_t last) {
  std::vector<NumberedEvent> events;
  for (int64_t number = first; number <= last; ++number) {
    events.push_back({{number}, {.at = {number}, .body = event::BackOffEnded{WorkloadId{1}}}});
  }
  return events;
}

std::pair<int64_t, int64_t> range(const EventHub::Tail& tail) {
  if (tail.events.empty()) return {0, 0};
  return {tail.events.front().sequence.value, tail.events.back().sequence.value};
}

}  // namespace

TEST_CASE("events after a sequence come in order, at most as many as asked") {
  EventHub hub;
  hub.publish(numbered(5, 9));
  hub.publish({});
  hub.publish(numbered(10, 20));
  CHECK(range(hub.after({4}, 100)) == std::pair<int64_t, int64_t>{5, 20});
  CHECK(range(hub.after({9}, 3)) == std::pair<int64_t, int64_t>{10, 12});
  CHECK(hub.after({20}, 100).events.empty());
  CHECK(hub.after({99}, 100).events.empty());
  CHECK_FALSE(hub.after({20}, 100).gap);
}

TEST_CASE("older events than are kept are a gap, the oldest kept one is none") {
  EventHub hub;
  CHECK(hub.after({0}, 10).gap);  // after a restart everything is in the journal
  constexpr auto kKept = static_cast<int64_t>(EventHub::kKept);
  hub.publish(numbered(1, kKept));
  CHECK_FALSE(hub.after({0}, 1).gap);
  hub.publish(numbered(kKept + 1, kKept + 10));
  CHECK(hub.after({9}, 1).gap);
  CHECK_FALSE(hub.after({10}, 1).gap);
  CHECK(range(hub.after({10}, 1)) == std::pair<int64_t, int64_t>{11, 11});
}

TEST_CASE("listeners hear of each publish until they let go") {
  EventHub hub;
  int heard = 0;
  std::shared_ptr<void> first = hub.listen([&] { ++heard; });
  std::shared_ptr<void> second = hub.listen([&] { heard += 100; });
  hub.publish(numbered(1, 2));
  CHECK(heard == 101);
  second.reset();
  hub.publish(numbered(3, 3));
  CHECK(heard == 102);
  first.reset();
  hub.publish(numbered(4, 4));
  CHECK(heard == 102);
}

TEST_CASE("a listener may outlive the hub") {
  auto hub = std::make_unique<EventHub>();
  std::shared_ptr<void> handle = hub->listen([] {});
  hub.reset();
  handle.reset();
}

}  // namespace moulin
