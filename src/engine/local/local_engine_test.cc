#include "engine/local/local_engine.h"

#include <doctest/doctest.h>

#include "engine/local/testing.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;

TEST_CASE("a program's exit code, its output and its use are reported") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("echo hello; echo bad >&2; exit 7");
  ReplicaStarted started = harness.reports->wait<ReplicaStarted>(launch.key);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(started.pid > 0);
  CHECK(started.token == launch.token);
  CHECK(exited.exit.code == 7);
  CHECK_FALSE(exited.exit.signal);
  CHECK(exited.exit.error == "");
  CHECK(exited.usage.memory_peak.count > 0);
  CHECK(harness.log(launch).ends_with("Z out hello\n"));
  CHECK(harness.log(launch, "stderr").ends_with("Z err bad\n"));
}

TEST_CASE("a program that dies of a signal") {
  EngineHarness harness;
  ReplicaExited exited = harness.run_shell("kill -SEGV $$");
  CHECK(exited.exit.signal == SIGSEGV);
  CHECK_FALSE(exited.exit.code);
}

}  // namespace
}  // namespace moulin
