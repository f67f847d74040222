#include "engine/local/activity.h"

#include <doctest/doctest.h>

#include "engine/local/usage_account.h"

namespace moulin {
namespace {

const ReplicaKey kKey{.workload = {.number = 1}, .attempt = {.value = 1}, .replica = {.value = 0}};

struct Measured {
  Duration wall{};
  Duration cpu{};
  Duration declared{};
  Duration declared_wall{};
};

Duration active(const Measured& measured, int64_t milli) {
  std::vector<Grant> grants{{.share = {milli}}};
  std::vector<int64_t> pids;
  DeclaredActivity source;
  return source.active({.key = kKey,
                        .grants = grants,
                        .pids = pids,
                        .wall = measured.wall,
                        .cpu = measured.cpu,
                        .declared = measured.declared,
                        .declared_wall = measured.declared_wall});
}

TEST_CASE("a busy core keeps a device busy, up to the share") {
  CHECK(active({.wall = seconds(60), .cpu = seconds(60)}, 1000) == seconds(60));
  CHECK(active({.wall = seconds(60), .cpu = seconds(60)}, 250) == seconds(15));
  CHECK(active({.wall = seconds(60), .cpu = seconds(6)}, 1000) == seconds(6));
  CHECK(active({.wall = seconds(60), .cpu = seconds(90)}, 2000) == seconds(90));
  CHECK(active({.wall = seconds(60), .cpu = seconds(60)}, 0) == seconds(0));
  CHECK(active({}, 1000) == seconds(0));
}

TEST_CASE("what the program declares counts instead, for as long as it does") {
  CHECK(active({.wall = seconds(60), .cpu = {}, .declared = seconds(30), .declared_wall = seconds(60)}, 500) ==
        seconds(15));
  // Half declared as idle, half silent with a core at work all the time.
  CHECK(active({.wall = seconds(60), .cpu = seconds(60), .declared = {}, .declared_wall = seconds(30)}, 1000) ==
        seconds(30));
}

TEST_CASE("absurd measurements give nothing absurd") {
  CHECK(active({.wall = seconds(1), .cpu = {-5}, .declared = hours(1), .declared_wall = hours(1)}, 1000) == seconds(1));
  CHECK(active({.wall = {-7}, .cpu = seconds(1)}, 1000) == seconds(0));
  CHECK(active({.wall = kDurationMax, .cpu = kDurationMax}, 1'000'000).us == kDurationMax.us);
}

TEST_CASE("an account adds up differences, and goes on from a note") {
  DeclaredActivity source;
  std::vector<Grant> grants{{.share = {500}}};
  UsageAccount first(kKey, grants);
  first.add({.wall = seconds(10), .cpu = seconds(20), .memory_peak = mebibytes(5)}, source);
  CHECK(first.usage() == Usage{.cpu = seconds(20), .memory_peak = mebibytes(5), .gpu_active = seconds(5)});
  first.add({.wall = seconds(10), .cpu = seconds(20)}, source);
  CHECK(first.usage().gpu_active == seconds(5));
  UsageAccount second(kKey, grants);
  second.resume(first.note());
  second.resume("rubbish\xff");
  second.resume("");
  second.add({.wall = seconds(20), .cpu = seconds(21)}, source);
  CHECK(second.usage().gpu_active == seconds(6));
}

}  // namespace
}  // namespace moulin
