// Commands beside a replica, with real processes and real terminals.
#include "engine/local/local_exec.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "engine/local/attempt_records.h"
#include "engine/local/shim_process.h"
#include "engine/local/testing.h"
#include "shim/files.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;

// A command, and what it has said so far.
class Running {
 public:
  Running(EngineHarness& harness, const ReplicaLaunch& launch, const ExecCommand& command) {
    Result<std::unique_ptr<ExecChannel>> opened = harness.engine().exec(launch.key, launch.token, command);
    REQUIRE(opened.has_value());
    channel_ = std::move(*opened);
  }
  ExecChannel& channel() { return *channel_; }

  // Until this was said, or it has ended.
  bool says(const std::string& text) {
    return serve_until([&] { return output.contains(text); });
  }
  const ExecOutcome& wait() {
    REQUIRE(serve_until([&] { return outcome.has_value(); }));
    return *outcome;
  }
  void hang_up() { channel_.reset(); }

  std::string output;
  std::string errors;
  std::optional<ExecOutcome> outcome;

 private:
  bool serve_until(const std::function<bool()>& holds) {
    return eventually([&] {
      if (!outcome) {
        ExecChannel::News news = channel_->serve();
        output += news.output;
        errors += news.errors;
        if (news.outcome) outcome = news.outcome;
      }
      return holds();
    });
  }
  std::unique_ptr<ExecChannel> channel_;
};

ReplicaLaunch start_sleeper(EngineHarness& harness) {
  ReplicaLaunch launch = harness.launch({"sleep", "1000"});
  launch.environment = {{"COLOUR", "red"}};
  harness.start(launch);
  harness.reports->wait<ReplicaStarted>(launch.key);
  return launch;
}

void end(EngineHarness& harness, const ReplicaLaunch& launch) {
  harness.end(launch, EndReason::kKill);
  harness.reports->wait<ReplicaExited>(launch.key);
}

}  // namespace

TEST_CASE("a command runs with the environment and in the folder of the program, with each containment") {
  for (const ContainmentFinding& finding : probe_containment().findings) {
    if (!finding.works) continue;
    CAPTURE(to_text(finding.kind));
    EngineHarness harness(finding.kind);
    ReplicaLaunch launch = start_sleeper(harness);
    Running command(harness, launch, {.argv = {"sh", "-c", "pwd; echo $COLOUR; echo bad >&2; cat; exit 7"}});
    command.channel().input("said\n");
    command.channel().end_input();
    CHECK(command.wait() == ExecOutcome{.code = 7});
    CHECK(command.output == launch.working_folder + "\nred\nsaid\n");
    CHECK(command.errors == "bad\n");
    // It is one of the replica's processes, and so it ends with it.
    Running lasting(harness, launch, {.argv = {"sh", "-c", "trap '' HUP TERM; echo ready; sleep 1000"}});
    CHECK(lasting.says("ready"));
    CHECK(harness.processes_of(launch.key).size() >= 2);
    end(harness, launch);
    CHECK_FALSE(lasting.wait().code);
    CHECK(harness.processes_of(launch.key).empty());
  }
}

TEST_CASE("a command with a terminal: its size, its changes, and what the keys do") {
  EngineHarness harness;
  ReplicaLaunch launch = start_sleeper(harness);
  Running command(harness, launch,
                  {.argv = {"sh", "-c",
                            "test -t 0 && test -t 1 && tty; echo $TERM; stty size; trap 'stty size' WINCH;"
                            "trap 'echo interrupted' INT; exec 3<&0; (trap '' INT; exec cat <&3 >/dev/null) & "
                            "reader=$!; echo ready; while kill -0 $reader; do wait $reader; done 2>/dev/null; exit 3"},
                   .terminal = TerminalShape{.rows = 33, .columns = 101},
                   .term = "dumb"});
  CHECK(command.says("ready"));
  CHECK(command.output.contains("/dev/pts/"));
  CHECK(command.output.contains("dumb\r\n"));
  CHECK(command.output.contains("33 101"));
  command.channel().resize({.rows = 20, .columns = 60});
  CHECK(command.says("20 60"));
  command.channel().input("\x03");
  CHECK(command.says("interrupted"));
  command.channel().input("\x04");
  CHECK(command.wait() == ExecOutcome{.code = 3});
  end(harness, launch);
}

TEST_CASE("a command under another account is that account, and so is its terminal") {
  if (::geteuid() != 0) return;
  EngineHarness harness;
  std::filesystem::permissions(harness.data.path(), std::filesystem::perms(0711));
  ReplicaLaunch launch = harness.launch({"sleep", "1000"});
  launch.account = "nobody";
  launch.working_folder = "/";
  harness.start(launch);
  harness.reports->wait<ReplicaStarted>(launch.key);
  Running command(harness, launch,
                  {.argv = {"sh", "-c", "id -un; stat -c %U $(tty)"}, .terminal = TerminalShape{}, .term = "dumb"});
  CHECK(command.wait() == ExecOutcome{.code = 0});
  CHECK(command.output == "nobody\r\nnobody\r\n");
  end(harness, launch);
}

TEST_CASE("a command that cannot be executed says why, as a shell does") {
  EngineHarness harness;
  ReplicaLaunch launch = start_sleeper(harness);
  Running missing(harness, launch, {.argv = {"no-such-command"}});
  CHECK(missing.wait().code == 127);
  CHECK(missing.wait().error.contains("command not found: no-such-command"));
  Running plain(harness, launch, {.argv = {"/etc/passwd"}});
  CHECK(plain.wait().code == 126);
  end(harness, launch);
}

TEST_CASE("signals reach the process group of a command, and hanging up is one") {
  EngineHarness harness;
  ReplicaLaunch launch = start_sleeper(harness);
  Running command(harness, launch, {.argv = {"sh", "-c", "echo ready; sleep 1000"}});
  CHECK(command.says("ready"));
  command.channel().signal(SIGUSR1);
  CHECK(command.wait() == ExecOutcome{.signal = SIGUSR1});
  Running left(harness, launch,
               {.argv = {"sh", "-c", "trap 'touch hung-up; exit' HUP; echo ready; while :; do sleep 0.05; done"}});
  CHECK(left.says("ready"));
  left.hang_up();
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "hung-up"); }));
  // What it says about that disturbs it not, unless it goes on and on.
  Running talks(harness, launch,
                {.argv = {"sh", "-c",
                          "trap 'head -c 100000 /dev/zero; touch said-much; exec yes' HUP; echo ready; while :; do "
                          "sleep 0.05; done"}});
  CHECK(talks.says("ready"));
  talks.hang_up();
  CHECK(eventually([&] { return std::filesystem::exists(harness.data / "said-much"); }));
  CHECK(eventually([&] { return harness.processes_of(launch.key).size() == 1; }));
  end(harness, launch);
}

TEST_CASE("more output than anybody reads makes the command wait, and nothing is lost") {
  EngineHarness harness;
  ReplicaLaunch launch = start_sleeper(harness);
  constexpr size_t kMuch = 8 << 20;
  Running command(harness, launch, {.argv = {"sh", "-c", fmt::format("head -c {} /dev/zero", kMuch)}});
  CHECK(command.wait() == ExecOutcome{.code = 0});
  CHECK(command.output.size() == kMuch);
  Running echo(harness, launch, {.argv = {"cat"}});
  std::string sent(2 << 20, 'x');
  echo.channel().input(sent);
  echo.channel().end_input();
  CHECK(echo.wait() == ExecOutcome{.code = 0});
  CHECK(echo.output == sent);
  end(harness, launch);
}

TEST_CASE("no more commands than there is room for, and none beside a replica that has ended") {
  EngineHarness harness;
  ReplicaLaunch launch = start_sleeper(harness);
  std::vector<std::unique_ptr<Running>> many;
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < kMost; ++i) {
    many.push_back(
        std::make_unique<Running>(harness, launch, ExecCommand{.argv = {"sh", "-c", "echo ready; sleep 1000"}}));
    CHECK(many.back()->says("ready"));
  }
  Running refused(harness, launch, {.argv = {"true"}});
  CHECK(refused.wait().error.contains("8 commands run beside this replica already"));
  end(harness, launch);
  for (auto& one : many) CHECK_FALSE(one->wait().code);
  Result<std::unique_ptr<ExecChannel>> late = harness.engine().exec(launch.key, launch.token, {.argv = {"true"}});
  if (late) {
    ExecChannel::News news;
    CHECK(eventually([&] { return (news = (*late)->serve()).outcome.has_value(); }));
    CHECK_FALSE(news.outcome->error.empty());
  }
  CHECK_FALSE(harness.engine().exec({WorkloadId{4711}, {1}, {0}}, "token", {.argv = {"true"}}).has_value());
}

TEST_CASE("a supervisor of the version before is followed and ended as ever, and too old for exec") {
  EngineHarness harness;
  harness.stop();
  ReplicaKey key{.workload = {.number = 99}, .attempt = {.value = 1}, .replica = {.value = 0}};
  AttemptStore store = AttemptStore::open(harness.data.path()).value();
  Fd folder = store.make_folder(key).value();
  REQUIRE(write_engine_record(folder, {.token = "token"}).has_value());
  AttemptLock lock = take_lock(folder).value();
  Fd listener = listen_in(folder).value();
  Result<std::unique_ptr<ExecChannel>> channel = open_exec_channel(folder, "token", {.argv = {"true"}});
  REQUIRE(channel.has_value());
  Fd shim(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string welcome =
      frame_of(MessageKind::kWelcome, Welcome{.version = 1}) + frame_of(MessageKind::kState, ShimState{});
  CHECK(::send(shim.number(), welcome.data(), welcome.size(), 0) == std::ssize(welcome));
  ExecChannel::News news;
  CHECK(eventually([&] { return (news = (*channel)->serve()).outcome.has_value(); }));
  CHECK(news.outcome->error.contains("too old for exec"));

  // Its states are understood: it is taken over.
  REQUIRE(store.mark_live(key).has_value());
  harness.restart();
  Fd link;
  CHECK(eventually([&] {
    link = Fd(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    return static_cast<bool>(link);
  }));
  std::string states = frame_of(MessageKind::kWelcome, Welcome{.version = 1}) +
                       frame_of(MessageKind::kState, ShimState{.started = true, .pid = 1});
  CHECK(::send(link.number(), states.data(), states.size(), 0) == std::ssize(states));
  harness.reports->wait<ReplicaStarted>(key);
  harness.stop();
}

}  // namespace moulin
