#include "api/event_reader.h"

#include <doctest/doctest.h>

#include <vector>

namespace moulin {

TEST_CASE("events come out whole however the stream was cut") {
  const std::string wire = encode_event({.id = "7", .type = "state", .data = "a\nb"}) + ":\n\n" +
                           encode_event({.data = "{}"}) + "data: cut off\n";
  for (size_t cut = 0; cut <= wire.size(); ++cut) {
    std::vector<StreamEvent> events;
    EventReader reader([&](const StreamEvent& event) { events.push_back(event); });
    REQUIRE(reader.feed(std::string_view(wire).substr(0, cut)).has_value());
    REQUIRE(reader.feed(std::string_view(wire).substr(cut)).has_value());
    REQUIRE(events.size() == 2);
    CHECK(events[0].id == "7");
    CHECK(events[0].type == "state");
    CHECK(events[0].data == "a\nb");
    CHECK(events[1].id.empty());
    CHECK(events[1].data == "{}");
  }
}

TEST_CASE("lines lose their ends, a last one without end is kept") {
  std::vector<std::string> lines;
  LineReader reader([&](std::string_view line) { lines.emplace_back(line); });
  REQUIRE(reader.feed("one\r\ntwo\n\nthr").has_value());
  REQUIRE(reader.feed("ee").has_value());
  reader.end();
  CHECK(lines == std::vector<std::string>{"one", "two", "", "three"});
}

TEST_CASE("a line without end is refused before it fills the memory") {
  LineReader reader([](std::string_view) {});
  const std::string piece(1 << 20, 'x');
  Status status;
  for (int i = 0; i < 5 && status; ++i) status = reader.feed(piece);
  CHECK_FALSE(status.has_value());
}

}  // namespace moulin
