#include "shim/limit_watch.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

constexpr Instant kStart{1'000'000'000};

TEST_CASE("memory must be over the limit in two samples in a row") {
  LimitWatch watch({.memory = mebibytes(100)});
  CHECK(watch.watches());
  CHECK_FALSE(watch.judge({.at = kStart, .memory = mebibytes(101)}));
  CHECK_FALSE(watch.judge({.at = kStart, .memory = mebibytes(100)}));
  CHECK_FALSE(watch.judge({.at = kStart, .memory = mebibytes(150)}));
  CHECK(watch.judge({.at = kStart, .memory = mebibytes(151)}) ==
        "memory limit exceeded: 151 MiB in use, 100 MiB allowed; ask for more in `resources.memory`, or use less");
}

TEST_CASE("so must tasks") {
  LimitWatch watch({.tasks = 10});
  CHECK_FALSE(watch.judge({.at = kStart, .tasks = 11}));
  CHECK(watch.judge({.at = kStart, .tasks = 12}).value().starts_with("task limit exceeded: 12 processes"));
}

TEST_CASE("CPU is judged by its mean over half a minute") {
  // Two cores allowed; two and a half used, after a burst of eight for five seconds.
  LimitWatch watch({.cpu = {2000}});
  std::optional<std::string> verdict;
  int64_t cpu_ms = 0;
  int second = 0;
  for (; second < 100 && !verdict; ++second) {
    verdict = watch.judge({.at = kStart + seconds(second), .cpu = milliseconds(cpu_ms)});
    cpu_ms += second < 5 ? 8000 : 2500;
  }
  CHECK(second == 31);
  CHECK(verdict.value().starts_with("CPU limit exceeded: 3.416 cores over 30 s, 2 allowed"));
}

TEST_CASE("a burst and a little more than allowed are left alone") {
  LimitWatch watch({.cpu = {2000}});
  int64_t cpu_ms = 0;
  for (int second = 0; second < 300; ++second) {
    CHECK_FALSE(watch.judge({.at = kStart + seconds(second), .cpu = milliseconds(cpu_ms)}));
    cpu_ms += second % 60 < 5 ? 6000 : 1300;
  }
}

TEST_CASE("without limits nothing is judged") {
  LimitWatch watch({});
  CHECK_FALSE(watch.watches());
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(watch.judge({.at = kStart, .cpu = hours(1000), .memory = gibibytes(1000), .tasks = 1'000'000}));
  }
}

}  // namespace
}  // namespace moulin
