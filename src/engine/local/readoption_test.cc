// Replicas outlive the server, and the next one knows all about them.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/local/shim_link.h"
#include "engine/local/shim_process.h"
#include "engine/local/testing.h"
#include "shim/files.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;
using testing::text_of_file;

TEST_CASE("a replica runs on while no server is there, and is taken over") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("while [ ! -e go ]; do sleep 0.01; done; exit 6");
  int64_t pid = harness.reports->wait<ReplicaStarted>(launch.key).pid;
  harness.restart();
  std::vector<HeldReplica> held = harness.engine().list().replicas;
  REQUIRE(held.size() == 1);
  CHECK(held[0].key == launch.key);
  CHECK(held[0].token == launch.token);
  CHECK_FALSE(held[0].exited);
  CHECK(harness.reports->wait<ReplicaStarted>(launch.key).pid == pid);
  CHECK(eventually([&] { return harness.engine().is_ours(pid); }));
  std::ofstream(harness.data / "go") << "";
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 6);
}

TEST_CASE("what ended while no server was there is reported with its true exit status") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; exit 9"});
  launch.grants = {{.gpu = GpuUuid("GPU-1"), .share = {1000}}};
  harness.start(launch);
  harness.reports->wait<ReplicaStarted>(launch.key);
  harness.stop();
  std::ofstream(harness.data / "go") << "";
  CHECK(eventually([&] { return std::filesystem::exists(harness.folder(launch) + "/status"); }));
  harness.restart();
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.code == 9);
  CHECK(exited.usage.cpu.us > 0);
  CHECK(exited.usage.gpu_active.us > 0);
  CHECK(harness.reports->count<ReplicaStarted>(launch.key) == 1);
  // Until it is released, every later server hears of it again.
  harness.restart();
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 9);
}

TEST_CASE("a replica that was taken over can be ended, and its checkpoint is told once") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell(
      "trap 'exit 4' TERM; echo 1 > t; mv t $MOULIN_CHECKPOINT_FILE; while :; do sleep 0.01; done");
  harness.reports->wait<CheckpointSeen>(launch.key);
  harness.restart();
  harness.end(launch, EndReason::kPreempt);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 4);
  CHECK(harness.reports->count<CheckpointSeen>(launch.key) == 0);
}

TEST_CASE("use goes on from where the last server counted") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "echo 100 > $MOULIN_ACTIVITY_FILE; exec sleep 1000"});
  launch.grants = {{.gpu = GpuUuid("GPU-1"), .share = {1000}}};
  harness.start(launch);
  Usage before = harness.reports->wait<UsageMeasured>(launch.key).usage;
  harness.restart();
  Usage after = harness.reports->wait<UsageMeasured>(launch.key).usage;
  CHECK(after.gpu_active > before.gpu_active);
  harness.end(launch, EndReason::kKill);
  harness.reports->wait<ReplicaExited>(launch.key);
}

TEST_CASE("a shim that was killed while no server was there") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("sleep 1000");
  harness.reports->wait<ReplicaStarted>(launch.key);
  int64_t shim = harness.shim_pid(launch);
  harness.stop();
  ::kill(static_cast<pid_t>(shim), SIGKILL);
  harness.restart();
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.vanished);
  CHECK(harness.processes_of(launch.key).empty());
}

TEST_CASE("a start that a dying server did not finish can be repeated") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "exit 2"});
  // A shim that cannot be run leaves the folder as a server leaves it that dies before.
  std::filesystem::create_directories(harness.folder(launch));
  std::ofstream(harness.folder(launch) + "/lock") << "";
  harness.start(launch);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 2);
}

TEST_CASE("a folder of another life with the same number is moved aside") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("echo first");
  harness.reports->wait<ReplicaExited>(launch.key);
  harness.engine().release(launch.key, launch.token);
  launch.token = "another";
  launch.argv = {"sh", "-c", "echo second"};
  harness.restart();
  harness.engine().start(launch);
  CHECK(eventually([&] { return harness.log(launch).ends_with("out second\n"); }));
  CHECK(text_of_file(harness.folder(launch) + ".old-1/stdout.1.log").ends_with("out first\n"));
}

TEST_CASE("a replica that appears behind the server's back is told as a stranger") {
  EngineHarness other;
  ReplicaLaunch launch = other.start_shell("sleep 1000");
  int64_t shim = 0;
  CHECK(eventually([&] { return (shim = other.shim_pid(launch)) != 0; }));
  other.reports->wait<ReplicaStarted>(launch.key);
  EngineHarness harness;
  REQUIRE(harness.engine().list().replicas.empty());
  // The other server goes, and its replica turns up here.
  other.stop();
  std::filesystem::remove_all(harness.data / "attempts/" + to_text(launch.key.workload));
  std::filesystem::create_directories(harness.data / "attempts/" + to_text(launch.key.workload) + "/1");
  std::filesystem::rename(other.folder(launch), harness.folder(launch));
  std::ofstream(harness.data / "attempts/live/" + live_name(launch.key)) << "";
  StrangerFound found = harness.reports->wait<StrangerFound>(launch.key);
  CHECK(found.token == launch.token);
  CHECK(found.pid == shim);
  harness.end(launch, EndReason::kKill);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.signal == SIGKILL);
}

TEST_CASE("the engine of a copied data folder leaves alone what the original runs") {
  EngineHarness original;
  original.installation.id = "original";
  original.restart();
  ReplicaLaunch launch = original.start_shell("while [ ! -e go ]; do sleep 0.01; done; exit 5");
  original.reports->wait<ReplicaStarted>(launch.key);

  EngineHarness copy;
  copy.stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(original.data / "attempts")) {
    std::filesystem::path to = copy.data.path() / entry.path().lexically_relative(original.data.path());
    if (entry.is_directory()) std::filesystem::create_directories(to);
    if (entry.is_regular_file()) std::filesystem::copy_file(entry.path(), to);
  }
  copy.installation = {.id = "copy", .claims_unmarked = false};
  copy.restart();
  CHECK(copy.engine().list().replicas.empty());
  copy.end(launch, EndReason::kKill);
  CHECK(copy.reports->wait<ReplicaExited>(launch.key).exit.vanished);
  // The same intent starts a replica of its own, and ending that one ends nothing else.
  ReplicaLaunch again = launch;
  again.argv = {"sleep", "1000"};
  copy.start(again);
  copy.reports->wait<ReplicaStarted>(again.key);
  copy.end(again, EndReason::kKill);
  CHECK(eventually([&] { return copy.reports->count<ReplicaExited>(again.key) == 2; }));

  CHECK(original.reports->count<ReplicaExited>(launch.key) == 0);
  std::ofstream(original.data / "go") << "";
  CHECK(original.reports->wait<ReplicaExited>(launch.key).exit.code == 5);
}

TEST_CASE("who does not know the token is not let in") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("sleep 1000");
  harness.reports->wait<ReplicaStarted>(launch.key);
  Result<Fd> folder = open_folder(harness.folder(launch));
  REQUIRE(folder.has_value());
  Result<Fd> socket = connect_in(*folder);
  REQUIRE(socket.has_value());
  ShimLink link(std::move(*socket), "token-of-2");
  link.send(frame_of(MessageKind::kEnd, EndOrder{.reason = ShimEndReason::kKill}));
  std::string refused;
  bool saw_state = false;
  CHECK(eventually([&] {
    ShimLink::News news = link.serve();
    saw_state |= !news.states.empty();
    refused += news.refused;
    return news.closed;
  }));
  CHECK(refused.contains("token"));
  CHECK_FALSE(saw_state);
  CHECK(harness.reports->count<ReplicaExited>(launch.key) == 0);
  harness.end(launch, EndReason::kKill);
  harness.reports->wait<ReplicaExited>(launch.key);
}

TEST_CASE("many replicas at once, over several restarts, each with its own end") {
  constexpr int kReplicas = 40;
  EngineHarness harness;
  std::vector<ReplicaLaunch> launches;
  for (int i = 0; i < kReplicas; ++i) {
    // Some end at once, some between restarts, some with the last of them.
    std::string wait = i % 3 == 0 ? "" : fmt::format("while [ ! -e go{} ]; do sleep 0.02; done;", i % 3);
    launches.push_back(harness.start_shell(fmt::format("echo $$ >> ran.{}; {} exit {}", i, wait, i + 1)));
  }
  for (int restart = 0; restart < 3; ++restart) {
    harness.restart();
    // What the last engine was told and had not done yet is repeated, as a server does.
    for (const ReplicaLaunch& launch : launches) harness.engine().start(launch);
    if (restart > 0) std::ofstream(harness.data / fmt::format("go{}", restart)) << "";
  }
  for (int i = 0; i < kReplicas; ++i) {
    CHECK(harness.reports->wait<ReplicaExited>(launches[static_cast<size_t>(i)].key).exit.code == i + 1);
    std::string ran = text_of_file(harness.data / fmt::format("ran.{}", i));
    CHECK(std::ranges::count(ran, '\n') == 1);
  }
}

TEST_CASE("a shim that cannot be run is reported") {
  testing::TemporaryFolder data;
  testing::Reports reports;
  LocalEngineOptions options{.data_folder = data.path(), .shim_command = {"/no/such/moulin", "shim"}};
  Result<std::unique_ptr<LocalEngine>> engine = LocalEngine::open(std::move(options));
  REQUIRE(engine.has_value());
  (*engine)->on_report([&](EngineReport report) { reports.add(std::move(report)); });
  ReplicaLaunch launch{.key = {.workload = {.number = 1}, .attempt = {.value = 1}}, .token = "t", .argv = {"true"}};
  (*engine)->start(launch);
  ReplicaExited exited = reports.wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.error.contains("/no/such/moulin"));
  CHECK_FALSE(exited.exit.vanished);
  CHECK((*engine)->list().replicas.empty());
}

}  // namespace
}  // namespace moulin
