#include "sim/random_driver.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

void check(const RandomRun& run) {
  RandomResult result = run_random(run);
  CHECK_MESSAGE(result.violation.empty(), result.violation);
}

}  // namespace

TEST_CASE("whatever happens, what must hold does: twenty thousand events") {
  for (uint64_t seed = 1; seed <= 10; ++seed) check({.seed = seed, .events = 2'000});
}

TEST_CASE("index and agenda follow every single event") {
  for (uint64_t seed = 100; seed <= 102; ++seed)
    check({.seed = seed, .events = 500, .rebuilds = Rebuilds::kEveryEvent});
}

TEST_CASE("passes that stop early go on until all is done") {
  for (uint64_t seed = 200; seed <= 203; ++seed)
    check({.seed = seed, .events = 800, .budget = {.candidates_max = 40, .starts_max = 2, .evictions_max = 2}});
}

TEST_CASE("the same seed gives the same state, byte for byte; another gives another") {
  RandomResult first = run_random({.seed = 7, .events = 800});
  RandomResult second = run_random({.seed = 7, .events = 800});
  CHECK(first.state_hash == second.state_hash);
  CHECK(first.counts == second.counts);
  CHECK(run_random({.seed = 8, .events = 800}).state_hash != first.state_hash);
}

}  // namespace moulin
