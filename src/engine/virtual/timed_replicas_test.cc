#include "engine/virtual/timed_replicas.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

constexpr Instant kStart{1'000'000};
const ReplicaKey kKey{.workload = {7}, .attempt = {1}, .replica = {}};

ReplicaLaunch launch_of(std::map<std::string, std::string> environment, std::vector<std::string> argv = {"train"}) {
  ReplicaLaunch launch;
  launch.key = kKey;
  launch.token = "t1";
  launch.argv = std::move(argv);
  launch.environment = std::move(environment);
  launch.grants = {{.share = {500}}, {.share = {250}}};
  return launch;
}

Duration duration_of(std::vector<std::string> argv) {
  Result<VirtualProgram> program = virtual_program(launch_of({}, std::move(argv)));
  REQUIRE(program.has_value());
  return program->duration;
}

// The only report that is due, as a T.
template <class T>
T only(std::vector<EngineReport> reports) {
  REQUIRE(reports.size() == 1);
  REQUIRE(std::holds_alternative<T>(reports.front()));
  return std::get<T>(std::move(reports.front()));
}

}  // namespace

TEST_CASE("a program says how long it takes, or is a sleep, or takes a minute") {
  CHECK(virtual_program(launch_of({{"VIRTUAL_DURATION", "2h"}}, {"sleep", "5"}))->duration == hours(2));
  CHECK(duration_of({"sleep", "5"}) == seconds(5));
  CHECK(duration_of({"/bin/sh", "-c", "sleep 3m"}) == minutes(3));
  CHECK(duration_of({"sleep", "for ever"}) == minutes(1));
  CHECK(duration_of({"python3", "train.py"}) == minutes(1));
}

TEST_CASE("a value that cannot be read ends the replica at once and is named") {
  for (auto [name, value] : {std::pair{"VIRTUAL_DURATION", "soon"},
                             {"VIRTUAL_EXIT", "256"},
                             {"VIRTUAL_EXIT", "-1"},
                             {"VIRTUAL_ACTIVITY", "101"}}) {
    CHECK(virtual_program(launch_of({{name, value}})).error().field == name);
    TimedReplicas replicas;
    replicas.start(kStart, launch_of({{name, value}}));
    auto exited = only<ReplicaExited>(replicas.take(kStart));
    CHECK_FALSE(exited.exit.clean());
    CHECK(exited.exit.error.contains(name));
  }
}

TEST_CASE("a replica starts at once, tells its use, and exits as it says") {
  TimedReplicas replicas;
  replicas.start(kStart, launch_of({{"VIRTUAL_DURATION", "90s"}, {"VIRTUAL_EXIT", "3"}, {"VIRTUAL_ACTIVITY", "40"}}));
  CHECK(only<ReplicaStarted>(replicas.take(kStart)).token == "t1");
  CHECK(replicas.take(kStart + seconds(59)).empty());
  CHECK(replicas.next() == kStart + minutes(1));
  // 750 thousandths of a device, of which 40 % work.
  CHECK(only<UsageMeasured>(replicas.take(kStart + minutes(1))).usage.gpu_active == seconds(18));
  CHECK(replicas.next() == kStart + seconds(90));
  auto exited = only<ReplicaExited>(replicas.take(kStart + minutes(5)));
  CHECK(exited.exit.code == 3);
  CHECK(exited.usage.gpu_active == seconds(27));
  CHECK_FALSE(replicas.next().has_value());
}

TEST_CASE("a replica that is asked to end dies of the signal at once, and once") {
  for (auto [reason, signal] : {std::pair{EndReason::kStop, 15}, {EndReason::kPreempt, 15}, {EndReason::kKill, 9}}) {
    TimedReplicas replicas;
    replicas.start(kStart, launch_of({}));
    CHECK(replicas.take(kStart).size() == 1);
    replicas.end(kStart + seconds(5), kKey, "another", reason);
    CHECK(replicas.take(kStart + seconds(5)).empty());
    replicas.end(kStart + seconds(5), kKey, "t1", reason);
    replicas.end(kStart + seconds(6), kKey, "t1", EndReason::kKill);
    CHECK(only<ReplicaExited>(replicas.take(kStart + seconds(9))).exit.signal == signal);
    CHECK(replicas.take(kStart + hours(1)).empty());
  }
}

TEST_CASE(
    "intents may come twice, and an exited replica is held until it is "
    "released") {
  TimedReplicas replicas;
  replicas.start(kStart, launch_of({}));
  replicas.start(kStart + seconds(1), launch_of({}));
  CHECK(replicas.take(kStart + seconds(1)).size() == 1);
  replicas.release(kKey, "t1");  // it runs: not yet
  REQUIRE(replicas.list().size() == 1);
  CHECK_FALSE(replicas.list().front().exited);
  only<ReplicaExited>(replicas.take(kStart + minutes(1)));
  replicas.start(kStart + minutes(2), launch_of({}));  // repeated after its end
  CHECK(replicas.take(kStart + minutes(2)).empty());
  CHECK(replicas.list().front().exited);
  replicas.release(kKey, "t1");
  CHECK(replicas.list().empty());
  replicas.release(kKey, "t1");
}

TEST_CASE("use of many devices for years is counted without overflow") {
  TimedReplicas replicas;
  ReplicaLaunch launch = launch_of({{"VIRTUAL_DURATION", "80000h"}});
  launch.grants.assign(64, Grant{.share = kWholeDevice});
  replicas.start(kStart, launch);
  Instant end = kStart + hours(80'000);
  std::vector<EngineReport> reports = replicas.take(end);
  CHECK(std::get<ReplicaExited>(reports.back()).usage.gpu_active == hours(80'000 * 64));
}

}  // namespace moulin
