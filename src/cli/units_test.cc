#include "cli/units.h"

#include <doctest/doctest.h>

namespace moulin::cli {

TEST_CASE("durations in their two largest units") {
  CHECK(brief({}) == "0s");
  CHECK(brief(milliseconds(-5)) == "0s");
  CHECK(brief(milliseconds(1999)) == "1s");
  CHECK(brief(seconds(65)) == "1m 5s");
  CHECK(brief(seconds(605)) == "10m");
  CHECK(brief(minutes(192)) == "3h 12m");
  CHECK(brief(hours(24 * 3)) == "3d");
  CHECK(brief(hours(24 * 100 + 5)) == "100d 5h");
}

TEST_CASE("clock times in the local zone") {
  View view{.now = parse_wall_time("2026-03-01T23:30:00Z").value(), .utc_offset = hours(1)};
  CHECK(clock_text(view.now, view) == "00:30:00");
  CHECK(clock_text(parse_wall_time("2026-03-01T22:30:00Z").value(), view) == "2026-03-01 23:30");
  CHECK(relative_text(WallTime{view.now.us + minutes(5).us}, view) == "in 5m (00:35:00)");
  CHECK(relative_text(WallTime{view.now.us - seconds(10).us}, view) == "10s ago (00:29:50)");
}

TEST_CASE("amounts with their unit") {
  CHECK(gpus_text({250}) == "0.25 GPU");
  CHECK(gpus_text({1000}) == "1 GPU");
  CHECK(gpus_text({2500}) == "2.5 GPUs");
  CHECK(amount_text(500, Resource::kCpu) == "0.5");
  CHECK(amount_text(gibibytes(16).count, Resource::kMemory) == "16GiB");
  CHECK(rough_bytes({1023}) == "1023B");
  CHECK(rough_bytes(mebibytes(81'559)) == "79.6GiB");
  CHECK(rough_bytes(mebibytes(200) + kibibytes(700)) == "200MiB");
  CHECK(gpu_seconds_text({1'250'000}) == "1.2");
  CHECK(counted(1, "workload") == "1 workload");
  CHECK(counted(0, "workload") == "0 workloads");
  CHECK(counted(2, "process") == "2 processes");
}

TEST_CASE("since when: how long ago, or a time") {
  View view{.now = parse_wall_time("2026-03-01T12:00:00Z").value()};
  CHECK(to_text(parse_since("10m", view).value()) == "2026-03-01T11:50:00.000000Z");
  CHECK(to_text(parse_since("2026-02-01T00:00:00+01:00", view).value()) == "2026-01-31T23:00:00.000000Z");
  CHECK(parse_since("yesterday", view).error().field == "--since");
}

}  // namespace moulin::cli
