#include "api/wall_time.h"

#include <doctest/doctest.h>

namespace moulin {

TEST_CASE("times are written with six digits and read back") {
  CHECK(to_text(WallTime{0}) == "1970-01-01T00:00:00.000000Z");
  CHECK(to_text(WallTime{1'772'357'400'000'250}) == "2026-03-01T09:30:00.000250Z");
  CHECK(to_text(WallTime{951'827'696'999'999}) == "2000-02-29T12:34:56.999999Z");
  CHECK(to_text(WallTime{-1}) == "1969-12-31T23:59:59.999999Z");
  for (const int64_t us : {int64_t{0}, int64_t{1}, int64_t{951'827'696'999'999}, int64_t{253'402'300'799'999'999}}) {
    CHECK(*parse_wall_time(to_text(WallTime{us})) == WallTime{us});
  }
}

TEST_CASE("offsets and fractions of any length are understood") {
  const WallTime time{1'772'357'400'000'000};
  CHECK(*parse_wall_time("2026-03-01T09:30:00Z") == time);
  CHECK(*parse_wall_time("2026-03-01t09:30:00z") == time);
  CHECK(*parse_wall_time("2026-03-01 11:00:00+01:30") == time);
  CHECK(*parse_wall_time("2026-02-28T22:30:00-11:00") == time);
  CHECK(*parse_wall_time("2026-03-01T09:30:00.5Z") == WallTime{time.us + 500'000});
  CHECK(*parse_wall_time("2026-03-01T09:30:00.123456789Z") == WallTime{time.us + 123'456});
}

TEST_CASE("what is no time is refused") {
  for (const char* text :
       {"", "now", "2026-03-01", "2026-03-01T09:30Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z", "2026-03-01T09:30:00", "2026-03-01T09:30:00.Z",
        "2026-03-01T09:30:00.1234567890Z", "2026-03-01T09:30:00+1:00", "1969-01-01T00:00:00Z", "2026-03-01T09:30:00Zx",
        "-026-03-01T09:30:00Z", "2026-03-01T09:30:00+99:00", "+2026-3-1T0:0:0Z"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_wall_time(text).has_value());
  }
}

TEST_CASE("millionths are exact decimals") {
  CHECK(decimal_of_millionths(0) == "0");
  CHECK(decimal_of_millionths(1'500'000) == "1.5");
  CHECK(decimal_of_millionths(100'000'000) == "100");
  CHECK(decimal_of_millionths(1) == "0.000001");
  CHECK(decimal_of_millionths(-500'000) == "-0.5");
  for (const int64_t us : {int64_t{0}, int64_t{1}, int64_t{1'500'000}, int64_t{999'999'999'999'999'999}}) {
    CHECK(*parse_millionths(decimal_of_millionths(us)) == us);
  }
  for (const char* text : {"", ".", "1.", ".5", "-1", "1e3", "1.0000001", "1000000000000", "0x1", "1,5"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_millionths(text).has_value());
  }
}

}  // namespace moulin
