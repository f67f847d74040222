#include "base/instant.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "base/text.h"

namespace moulin {

TEST_CASE("durations are read in their units") {
  CHECK(*parse_duration("0") == Duration{0});
  CHECK(*parse_duration("0s") == Duration{0});
  CHECK(*parse_duration("90s") == seconds(90));
  CHECK(*parse_duration("30m") == minutes(30));
  CHECK(*parse_duration("8h") == hours(8));
  CHECK(*parse_duration("2d") == hours(48));
  CHECK(*parse_duration("500ms") == milliseconds(500));
  CHECK(*parse_duration("7us") == microseconds(7));
  CHECK(*parse_duration("1h30m") == minutes(90));
  CHECK(*parse_duration("1d2h3m4s5ms6us") == hours(26) + minutes(3) + seconds(4) + milliseconds(5) + microseconds(6));
  CHECK(*parse_duration("90m") == minutes(90));
  CHECK(*parse_duration("1m500ms") == seconds(60) + milliseconds(500));
}

TEST_CASE("what is not a duration is refused") {
  for (std::string_view text :
       {"",     "5",    "00",   "s",  "-5s",  "+5s",  "1.5h", "5 s",  " 5s", "5s ",
        "5m1h", "1h1h", "1h30", "5S", "5sec", "5min", "1w",   "5s5s", "1hh", "99999999999999999s",
        "h1",   "1ms1s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
  CHECK_FALSE(parse_duration(std::string_view("5s\0", 3)));
}

TEST_CASE("ten years are allowed and not a microsecond more") {
  CHECK(*parse_duration("3653d") == kDurationMax);
  CHECK_FALSE(parse_duration("3653d1us"));
  CHECK_FALSE(parse_duration("3654d"));
  CHECK_FALSE(parse_duration("999999999999999d"));
  CHECK_FALSE(parse_duration("999999999999999d999999999999999h"));
}

TEST_CASE("durations in words") {
  CHECK(to_text(Duration{0}) == "0s");
  CHECK(to_text(seconds(5400)) == "1h30m");
  CHECK(to_text(hours(24 * 3653)) == "3653d");
  CHECK(to_text(microseconds(1)) == "1us");
  CHECK(to_text(milliseconds(1500)) == "1s500ms");
  CHECK(to_text(seconds(-90)) == "-1m30s");
  CHECK(to_text(Duration{INT64_MAX}) == "106751991d4h54s775ms807us");
  CHECK(to_text(Duration{INT64_MIN}) == "-106751991d4h54s775ms808us");
}

TEST_CASE("every duration is read back as itself") {
  Rng rng(2);
  for (int i = 0; i < 20'000; ++i) {
    Duration duration{rng.between(0, kDurationMax.us >> rng.between(0, 48))};
    CAPTURE(duration.us);
    CHECK(*parse_duration(to_text(duration)) == duration);
  }
}

TEST_CASE("the given text in an error is short and still well-formed") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "é";
  std::string given = parse_duration("x" + text).error().given;
  CHECK(given.size() <= 203);
  CHECK(is_utf8(given));
}

TEST_CASE("instants and durations keep apart and add up") {
  Instant start{1'000'000};
  CHECK(start + seconds(2) == Instant{3'000'000});
  CHECK(start - seconds(2) == Instant{-1'000'000});
  CHECK((start + minutes(1)) - start == seconds(60));
  CHECK(milliseconds(1) < seconds(1));
  CHECK(seconds(3) * 4 == seconds(12));
}

}  // namespace moulin
