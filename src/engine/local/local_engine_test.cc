#include "engine/local/local_engine.h"

#include <doctest/doctest.h>

#include "engine/local/testing.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;
using testing::text_of_file;

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

TEST_CASE("a command that does not exist is named, with PATH and what to do") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start({"no-such-command", "--flag"});
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK_FALSE(exited.exit.code);
  CHECK_FALSE(exited.exit.signal);
  CHECK_FALSE(exited.exit.vanished);
  CHECK(exited.exit.error.contains("command not found: no-such-command"));
  CHECK(exited.exit.error.contains("/usr/local/bin:/usr/bin:/bin"));
  CHECK(exited.exit.error.contains("install it"));
  CHECK(harness.reports->count<ReplicaStarted>(launch.key) == 0);
}

TEST_CASE("a working folder that is missing is named") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"true"});
  launch.working_folder = harness.data / "nowhere";
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.error.contains("the working folder " + launch.working_folder + " does not exist"));
}

TEST_CASE("a file that may not be executed, and one that is no program") {
  EngineHarness harness;
  std::ofstream(harness.data / "plain") << "hello\n";
  ReplicaLaunch plain = harness.start({"./plain"});
  CHECK(harness.reports->wait<ReplicaExited>(plain.key).exit.error.contains("permission denied: ./plain"));
  std::filesystem::permissions(harness.data / "plain", std::filesystem::perms::owner_all);
  ReplicaLaunch executable = harness.start({"./plain"});
  CHECK(harness.reports->wait<ReplicaExited>(executable.key).exit.error.contains("./plain is no program"));
}

TEST_CASE("an account that does not exist") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"true"});
  launch.account = "no-such-account";
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.error.contains("the account no-such-account does not exist"));
}

TEST_CASE("a replica under another account") {
  if (::geteuid() != 0) return;
  EngineHarness harness;
  // The data folder of a server that switches accounts lets others pass through.
  std::filesystem::permissions(harness.data.path(), std::filesystem::perms(0711));
  ReplicaLaunch launch = harness.launch({"sh", "-c", "id -un; echo $HOME; touch $MOULIN_DONE_FILE; ls /proc/self/fd"});
  launch.account = "nobody";
  launch.working_folder = "/";
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.code == 0);
  CHECK(exited.exit.done_file);
  CHECK(harness.log(launch).contains("out nobody\n"));
  CHECK(harness.log(launch).contains("out /nonexistent\n"));
}

TEST_CASE("a program under another account can read why it is asked to end, and owns its checkpoint folder") {
  if (::geteuid() != 0) return;
  EngineHarness harness;
  std::filesystem::permissions(harness.data.path(), std::filesystem::perms(0711));
  ReplicaLaunch launch =
      harness.launch({"sh", "-c",
                      "trap 'cat $MOULIN_FLAG_FILE; exit 3' TERM;"
                      "echo 1 > $MOULIN_CHECKPOINT_FILE.new && mv $MOULIN_CHECKPOINT_FILE.new $MOULIN_CHECKPOINT_FILE;"
                      "while :; do sleep 0.01; done"});
  launch.account = "nobody";
  launch.working_folder = "/";
  harness.start(launch);
  harness.reports->wait<CheckpointSeen>(launch.key);
  harness.end(launch, EndReason::kPreempt);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 3);
  CHECK(harness.log(launch).contains("out {\"reason\":\"preempt\""));
}

TEST_CASE("the environment is complete and nothing else is inherited") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"env"});
  launch.environment = {{"LR", "1e-4"}, {"MOULIN_MARK", "forged"}};
  launch.grants = {{.gpu = GpuUuid("GPU-1"), .share = {250}}, {.gpu = GpuUuid("GPU-2"), .share = {1000}}};
  launch.limits.cpu = {2500};
  harness.start(launch);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.code == 0);
  std::string log = harness.log(launch);
  for (const char* line : {"LR=1e-4", "LANG=C.UTF-8", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2", "MOULIN_GPU_SHARES=250,1000",
                           "OMP_NUM_THREADS=3", "MOULIN_ATTEMPT=1", "MOULIN_REPLICA=0"}) {
    CHECK_MESSAGE(log.contains(fmt::format("out {}\n", line)), line);
  }
  CHECK_FALSE(log.contains("forged"));
  CHECK_FALSE(log.contains("token-of"));
  CHECK(log.contains(fmt::format("out MOULIN_WORKLOAD_ID={}\n", to_text(launch.key.workload))));
  CHECK_FALSE(log.contains("MOULIN_WORKLOAD="));  // one name for one thing
  CHECK_FALSE(log.contains("HOME="));
}

TEST_CASE("SIGTERM and the flag file, then the program ends in its own time") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell(
      "trap 'cat $MOULIN_FLAG_FILE; exit 3' TERM; touch ready; while :; do sleep 0.01; done");
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "ready"); }));
  harness.end(launch, EndReason::kPreempt);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.code == 3);
  CHECK(harness.log(launch).contains("out {\"reason\":\"preempt\",\"grace_seconds\":"));
}

TEST_CASE("a program that ignores SIGTERM is killed after the grace, with all its children") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("trap '' TERM; sleep 1000 & touch ready; while :; do wait; done");
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "ready"); }));
  Instant asked = boot_time_now();
  harness.end(launch, EndReason::kStop, milliseconds(300));
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.signal == SIGKILL);
  CHECK(boot_time_now() - asked >= milliseconds(300));
  CHECK(harness.processes_of(launch.key).empty());
}

TEST_CASE("a stronger reason replaces a weaker one") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("trap '' TERM; touch ready; while :; do sleep 0.01; done");
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "ready"); }));
  std::string flag = harness.folder(launch) + "/exchange/flag";
  harness.end(launch, EndReason::kPreempt, seconds(1000));
  CHECK(eventually([&] { return text_of_file(flag).contains("\"preempt\""); }));
  harness.end(launch, EndReason::kPause, seconds(1000));
  harness.end(launch, EndReason::kStop, seconds(1000));
  CHECK(eventually([&] { return text_of_file(flag).contains("\"stop\""); }));
  harness.end(launch, EndReason::kKill, {});
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.signal == SIGKILL);
}

TEST_CASE("the children of a program that was asked to end may save their work") {
  EngineHarness harness;
  // The shell dies at once of the signal; the child takes a moment.
  ReplicaLaunch launch = harness.start_shell(
      "sh -c 'trap \"sleep 0.2; touch saved; exit\" TERM; touch ready; while :; do sleep 0.01; done'; true");
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "ready"); }));
  harness.end(launch, EndReason::kPreempt);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.signal == SIGTERM);
  CHECK(std::filesystem::exists(harness.data / "saved"));
}

TEST_CASE("an order that comes before the program runs is carried out") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("sleep 1000");
  harness.end(launch, EndReason::kStop);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).exit.signal == SIGTERM);
}

TEST_CASE("checkpoints are seen when the file is replaced, and before the end") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell(
      "save() { echo $1 > ck.tmp; mv ck.tmp $MOULIN_CHECKPOINT_FILE; };"
      "save 1; while [ ! -e go ]; do sleep 0.01; done; save 2; touch $MOULIN_DONE_FILE");
  harness.reports->wait<CheckpointSeen>(launch.key);
  CHECK(harness.reports->count<CheckpointSeen>(launch.key) == 1);
  std::ofstream(harness.data / "go") << "";
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(harness.reports->count<CheckpointSeen>(launch.key) == 2);
  CHECK(exited.exit.code == 0);
  CHECK(exited.exit.done_file);
}

TEST_CASE("a declared checkpoint file that is there from an earlier attempt is no checkpoint") {
  EngineHarness harness;
  std::ofstream(harness.data / "model.ckpt") << "old";
  ReplicaLaunch launch = harness.launch({"sh", "-c", "cat $MOULIN_CHECKPOINT_FILE"});
  launch.checkpoint_file = harness.data / "model.ckpt";
  harness.start(launch);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK_MESSAGE(exited.exit.code == 0, exited.exit.error);
  CHECK(harness.reports->count<CheckpointSeen>(launch.key) == 0);
  CHECK(harness.log(launch).contains("out old"));
}

TEST_CASE("use is reported while the program runs, by the activity that it declares") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "echo 50 > $MOULIN_ACTIVITY_FILE; exec sleep 1000"});
  launch.grants = {{.gpu = GpuUuid("GPU-1"), .share = {500}}};
  harness.start(launch);
  UsageMeasured measured = harness.reports->wait<UsageMeasured>(launch.key);
  CHECK(measured.usage.memory_peak.count > 0);
  // About a second at half of half a device.
  CHECK(measured.usage.gpu_active > milliseconds(100));
  CHECK(measured.usage.gpu_active < milliseconds(600));
  harness.end(launch, EndReason::kKill);
  CHECK(harness.reports->wait<ReplicaExited>(launch.key).usage.gpu_active >= measured.usage.gpu_active);
}

TEST_CASE("processes are known as ours") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("sleep 1000 & wait");
  int64_t pid = harness.reports->wait<ReplicaStarted>(launch.key).pid;
  CHECK(eventually([&] { return !children_of(pid).empty(); }));
  CHECK(harness.engine().is_ours(pid));
  CHECK(harness.engine().is_ours(children_of(pid).front()));
  CHECK_FALSE(harness.engine().is_ours(::getpid()));
  CHECK_FALSE(harness.engine().is_ours(1));
  harness.end(launch, EndReason::kKill);
  harness.reports->wait<ReplicaExited>(launch.key);
}

TEST_CASE("a start that is repeated starts nothing twice") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("echo once >> count; while [ ! -e go ]; do sleep 0.01; done");
  harness.reports->wait<ReplicaStarted>(launch.key);
  harness.engine().start(launch);
  CHECK(eventually([&] { return harness.reports->count<ReplicaStarted>(launch.key) == 2; }));
  std::ofstream(harness.data / "go") << "";
  harness.reports->wait<ReplicaExited>(launch.key);
  harness.engine().start(launch);
  CHECK(eventually([&] { return harness.reports->count<ReplicaExited>(launch.key) == 2; }));
  CHECK(text_of_file(harness.data / "count") == "once\n");
}

TEST_CASE("release forgets a replica but not its logs") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("echo kept");
  harness.reports->wait<ReplicaExited>(launch.key);
  auto is_held_as_exited = [&] {
    std::vector<HeldReplica> held = harness.engine().list().replicas;
    return held.size() == 1 && held[0].exited;
  };
  CHECK(eventually(is_held_as_exited));
  harness.engine().release(launch.key, launch.token);
  CHECK(eventually([&] { return harness.engine().list().replicas.empty(); }));
  harness.restart();
  CHECK(harness.engine().list().replicas.empty());
  CHECK(harness.log(launch).ends_with("out kept\n"));
  CHECK_FALSE(std::filesystem::exists(harness.folder(launch) + "/launch"));
}

TEST_CASE("ending what the engine does not hold is answered") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"true"});
  harness.end(launch, EndReason::kStop);
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(exited.exit.vanished);
}

}  // namespace
}  // namespace moulin
