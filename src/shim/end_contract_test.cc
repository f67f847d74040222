#include "shim/end_contract.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

constexpr Instant kNow{1'000'000'000};

TEST_CASE("signal, grace, kill") {
  EndContract contract;
  CHECK_FALSE(contract.tick(kNow).kill);
  EndContract::Actions asked = contract.ask(ShimEndReason::kPreempt, seconds(30), kNow);
  CHECK(asked.write_flag);
  CHECK(asked.terminate);
  CHECK_FALSE(asked.kill);
  CHECK_FALSE(contract.tick(kNow + seconds(29)).kill);
  CHECK(contract.tick(kNow + seconds(30)).kill);
  CHECK_FALSE(contract.tick(kNow + seconds(31)).kill);
  CHECK(contract.killed());
}

TEST_CASE("kill leaves out the first two") {
  EndContract contract;
  EndContract::Actions asked = contract.ask(ShimEndReason::kKill, seconds(30), kNow);
  CHECK(asked.kill);
  CHECK_FALSE(asked.terminate);
  CHECK_FALSE(contract.ask(ShimEndReason::kStop, {}, kNow).write_flag);
}

TEST_CASE("stronger reasons replace weaker ones, and the deadline only comes nearer") {
  EndContract contract;
  contract.ask(ShimEndReason::kPause, seconds(60), kNow);
  EndContract::Actions stronger = contract.ask(ShimEndReason::kStop, seconds(90), kNow);
  CHECK(stronger.write_flag);
  CHECK_FALSE(stronger.terminate);  // one SIGTERM only
  CHECK(contract.reason() == ShimEndReason::kStop);
  CHECK(contract.deadline() == kNow + seconds(60));
  EndContract::Actions weaker = contract.ask(ShimEndReason::kPreempt, seconds(90), kNow);
  CHECK_FALSE(weaker.write_flag);
  CHECK(contract.reason() == ShimEndReason::kStop);
  contract.ask(ShimEndReason::kPreempt, seconds(10), kNow);
  CHECK(contract.reason() == ShimEndReason::kStop);
  CHECK(contract.deadline() == kNow + seconds(10));
}

TEST_CASE("absurd graces are cut") {
  EndContract contract;
  contract.ask(ShimEndReason::kStop, {INT64_MAX}, kNow);
  CHECK(contract.deadline() == kNow + kDurationMax);
  contract.ask(ShimEndReason::kStop, {-5}, kNow);
  CHECK(contract.deadline() == kNow);
}

TEST_CASE("the flag file says reason, grace and deadline") {
  CHECK(flag_text(ShimEndReason::kPreempt, seconds(30), 0) ==
        "{\"reason\":\"preempt\",\"grace_seconds\":30,\"deadline\":\"1970-01-01T00:00:30.000000Z\"}\n");
}

}  // namespace
}  // namespace moulin
