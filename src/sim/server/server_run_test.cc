#include "sim/server/server_run.h"

#include <doctest/doctest.h>

namespace moulin::sim {

namespace {

RunResult run(const RunOptions& options) {
  RunResult result = run_server(options);
  CHECK_MESSAGE(!result.wrong, (result.wrong ? result.wrong->checker + ": " + result.wrong->text : ""));
  CHECK(result.events >= options.events);
  CHECK(result.followed > result.events / 2);
  return result;
}

}  // namespace

TEST_CASE("the whole server does the same for the same seed, and something else for another") {
  RunResult first = run({.seed = 3, .events = 600});
  CHECK(run({.seed = 3, .events = 600}).hash == first.hash);
  CHECK(run({.seed = 4, .events = 600}).hash != first.hash);
}

TEST_CASE("where nothing goes wrong the server lives once, on either disk") {
  CHECK(run({.seed = 5, .events = 600, .faults = {}}).lives == 1);
  CHECK(run({.seed = 5, .events = 600, .faults = {}, .disk = DiskKind::kSqlite}).lives == 1);
}

TEST_CASE("what can happen does: in a few runs every important event occurs, and many lives") {
  std::map<std::string, int64_t> counts;
  int64_t lives = 0;
  for (uint64_t seed = 10; seed < 13; ++seed) {
    RunResult result = run({.seed = seed, .events = 3'000, .depth = {.publications = 16}});
    for (const auto& [word, count] : result.counts) counts[word] += count;
    lives += result.lives;
  }
  for (const char* word : {"attempt_started", "attempt_ended", "replicas_added", "end_asked", "claim_made",
                           "stale_reported", "request_remembered", "workload_paused", "workload_resumed",
                           "stranger_end_asked", "back_off_ended", "checkpoint_written", "usage_recorded"}) {
    INFO(word);
    CHECK(counts[word] > 0);
  }
  CHECK(lives > 15);  // compilers order the dice differently
}

}  // namespace moulin::sim
