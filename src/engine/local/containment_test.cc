// Nothing is left when a replica has ended, with each containment that works here.
#include "shim/containment.h"

#include <doctest/doctest.h>

#include "engine/local/testing.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;
using testing::text_of_file;

std::vector<ContainmentKind> working_kinds() {
  std::vector<ContainmentKind> kinds;
  for (const ContainmentFinding& finding : probe_containment().findings) {
    MESSAGE(finding.detail);
    if (finding.works) kinds.push_back(finding.kind);
  }
  return kinds;
}

bool runs(int64_t pid) {
  Result<ProcessFacts> facts = process_facts(pid);
  return facts && facts->state != 'Z' && facts->state != 'X';
}

// Beside it the shim has another child, which looks for checkpoints.
int64_t guard_of(int64_t shim) {
  for (int64_t child : children_of(shim)) {
    if (text_of_file(fmt::format("/proc/{}/comm", child)) == "moulin-guard\n") return child;
  }
  FAIL("the shim has no guard");
  return 0;
}

// Processes of this machine with this program and argument, whatever their environment.
int64_t pid_with_argument(const std::string& argument) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    int64_t pid = std::atoll(entry.path().filename().c_str());
    if (pid <= 0 || !runs(pid)) continue;
    if (text_of_file(entry.path().string() + "/cmdline").contains(argument)) return pid;
  }
  return 0;
}

uint64_t generations(const std::string& path) {
  std::string bytes = text_of_file(path);
  uint64_t count = 0;
  if (bytes.size() == sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
  return count;
}

// A chain that still ran would count on while we look a thousand times.
bool stands_still(const std::string& path) {
  uint64_t before = generations(path);
  for (int i = 0; i < 1000; ++i) {
    if (generations(path) != before) return false;
  }
  return true;
}

TEST_CASE("the probe tries every kind and the weakest always works") {
  Containment containment = probe_containment();
  REQUIRE(containment.findings.size() == 3);
  CHECK(containment.findings.back().works);
  for (const ContainmentFinding& finding : containment.findings) CHECK(finding.detail != "");
  CHECK((containment.kind == ContainmentKind::kCgroup) == !containment.cgroup_parent.empty());
}

TEST_CASE("a daemon that forks twice, calls setsid and clears its environment is ended") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    std::string file = harness.data / "daemon.pid";
    ReplicaLaunch launch = harness.start_shell(
        fmt::format("{} daemon {}; while [ ! -s {} ]; do sleep 0.01; done; exit 5", MOULIN_SHIM_FOR_TESTS, file, file));
    CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 5);
    CHECK(pid_with_argument(file) == 0);
    CHECK(harness.processes_of(launch.key).empty());
  }
}

TEST_CASE("a chain of processes that fork and exit is ended when its program ends") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    std::string file = harness.data / "generations";
    ReplicaLaunch launch = harness.start({MOULIN_SHIM_FOR_TESTS, "run-away", file});
    CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 0);
    CHECK(stands_still(file));
    CHECK(pid_with_argument(file) == 0);
  }
}

TEST_CASE("a chain of processes that fork and exit is ended on demand") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    std::string file = harness.data / "generations";
    ReplicaLaunch launch = harness.launch({MOULIN_SHIM_FOR_TESTS, "run-away", file});
    launch.environment["RUNAWAY_STAYS"] = "1";
    harness.start(launch);
    CHECK(eventually([&] { return generations(file) > 100; }));
    harness.end(launch, EndReason::kKill);
    CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.signal == SIGKILL);
    CHECK(stands_still(file));
    CHECK(pid_with_argument(file) == 0);
  }
}

TEST_CASE("when the shim is killed its tree ends, and the engine says that it vanished") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    std::string file = harness.data / "daemon.pid";
    ReplicaLaunch launch = harness.start_shell(
        fmt::format("trap '' TERM; {} daemon {}; sleep 1000", MOULIN_SHIM_FOR_TESTS, file));
    harness.reports->wait<ReplicaStarted>(launch.key);
    CHECK(eventually([&] { return !text_of_file(file).empty(); }));
    ::kill(static_cast<pid_t>(harness.shim_pid(launch)), SIGKILL);
    ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
    CHECK(exited.exit.vanished);
    CHECK(exited.exit.error != "");
    CHECK(pid_with_argument(file) == 0);
    CHECK(harness.processes_of(launch.key).empty());
  }
}

TEST_CASE("when shim and guard are killed at once the engine ends what is left") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    ReplicaLaunch launch = harness.start_shell("trap '' TERM; setsid sleep 1000 & sleep 1000");
    int64_t pid = harness.reports->wait<ReplicaStarted>(launch.key).pid;
    CHECK(eventually([&] { return children_of(pid).size() == 2; }));
    int64_t shim = harness.shim_pid(launch);
    int64_t guard = guard_of(shim);
    // Stopped first, so that neither can act on the end of the other.
    for (int64_t process : {guard, shim}) ::kill(static_cast<pid_t>(process), SIGSTOP);
    for (int64_t process : {guard, shim}) ::kill(static_cast<pid_t>(process), SIGKILL);
    CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.vanished);
    CHECK(harness.processes_of(launch.key).empty());
  }
}

TEST_CASE("when only the guard is killed the shim ends the tree and says so") {
  for (ContainmentKind kind : working_kinds()) {
    CAPTURE(to_text(kind));
    EngineHarness harness(kind);
    ReplicaLaunch launch = harness.start_shell("trap '' TERM; setsid sleep 1000 & sleep 1000");
    int64_t pid = harness.reports->wait<ReplicaStarted>(launch.key).pid;
    CHECK(eventually([&] { return children_of(pid).size() == 2; }));
    ::kill(static_cast<pid_t>(guard_of(harness.shim_pid(launch))), SIGKILL);
    ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
    CHECK(exited.exit.error.contains("guard"));
    CHECK_FALSE(exited.exit.vanished);
    CHECK(harness.processes_of(launch.key).empty());
  }
}

TEST_CASE("memory above the limit ends the replica, naming the limit") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({MOULIN_SHIM_FOR_TESTS, "eat", "200"});
  launch.limits.memory = mebibytes(64);
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.limit_hit);
  CHECK(exited.exit.error.contains("memory limit exceeded"));
  CHECK(exited.exit.error.contains("64 MiB allowed"));
  CHECK(exited.usage.memory_peak > mebibytes(64));
}

TEST_CASE("memory below the limit is left alone") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({MOULIN_SHIM_FOR_TESTS, "eat", "40"});
  launch.limits.memory = mebibytes(100);
  harness.start(launch);
  harness.reports->wait<UsageMeasured>(launch.key);
  CHECK(harness.reports->count<ReplicaExited>(launch.key) == 0);
  harness.end(launch, EndReason::kKill);
  CHECK_FALSE(harness.reports->wait<ReplicaExited>(launch.key).exit.limit_hit);
}

TEST_CASE("more tasks than allowed end the replica") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait"});
  launch.limits.tasks = 5;
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  bool watched = !probe_containment().controllers.tasks;
  CHECK(exited.exit.limit_hit == watched);
  if (watched) CHECK(exited.exit.error.contains("task limit exceeded: 10 processes"));
}

}  // namespace
}  // namespace moulin
