#include "sim/server/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"

extern char** environ;

namespace moulin::sim {

namespace {

constexpr int kPatienceMs = 15 * 60 * 1000;
constexpr std::string_view kResult = "RESULT ";
constexpr size_t kOutputMax = 1 << 20;

// Everything that the child writes, until it ends or falls silent for too long.
std::string read_all(int descriptor, pid_t child) {
  std::string output;
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, kPatienceMs) <= 0) {
      ::kill(child, SIGKILL);
      return output + "\nit hangs\n";
    }
    ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) return output;
    if (output.size() < kOutputMax) output.append(buffer.data(), static_cast<size_t>(count));
  }
}

Trial read_trial(const std::string& output, int status) {
  size_t at = output.find(kResult);
  if (at == std::string::npos || !WIFEXITED(status)) {
    return {.checker = "abort", .text = "the process ended by itself", .tail = output};
  }
  size_t end = output.find('\n', at);
  Json result = parse_json(std::string_view(output).substr(at + kResult.size(), end - at - kResult.size())).value();
  return {.checker = result.find("checker")->string(),
          .text = result.find("text")->string(),
          .events = *result.find("events")->integer(),
          .requests = *result.find("requests")->integer(),
          .lives = *result.find("lives")->integer(),
          .hash = result.find("hash")->string(),
          .tail = output.substr(end + 1)};
}

std::string_view word_of(DiskKind disk) { return disk == DiskKind::kMemory ? "memory" : "sqlite"; }

}  // namespace

std::vector<std::string> arguments_of(const RunOptions& options) {
  return {"--seed",   std::to_string(options.seed),       "--events", std::to_string(options.events),
          "--faults", Faults::text_of(options.faults),    "--users",  std::to_string(options.users),
          "--disk",   std::string(word_of(options.disk)), "--depth",  std::to_string(options.depth.publications)};
}

std::string command_line(const RunOptions& options) { return "moulin-sim " + join(arguments_of(options), " "); }

void run_for_parent(const RunOptions& options) {
  RunResult result = run_server(options);
  Wrong wrong = result.wrong.value_or(Wrong{});
  Json line = Json::object({{"checker", Json(wrong.checker)},
                            {"text", Json(wrong.text)},
                            {"events", Json(result.events)},
                            {"requests", Json(result.requests)},
                            {"lives", Json(result.lives)},
                            {"hash", Json(fmt::format("{:016x}", result.hash))}});
  std::string text = std::string(kResult) + write_json(line) + "\n";
  if (result.wrong) text += join(result.tail, "\n") + "\n";
  std::fputs(text.c_str(), stdout);
}

Trial try_run(const std::string& program, const RunOptions& options) {
  std::array<int, 2> ends{};
  MOULIN_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> arguments = arguments_of(options);
  arguments.insert(arguments.begin(), {program, "--child"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  int started = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  MOULIN_CHECK(started == 0, "the simulator can be started again");
  std::string output = read_all(ends[0], child);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return read_trial(output, status);
}

namespace {

class Shrinker {
 public:
  Shrinker(const std::string& program, const RunOptions& options, const Trial& failed, int trials_max)
      : program_(program), trials_max_(trials_max), best_{.options = options, .trial = failed} {}

  Shrunk run() {
    fewer_events();
    fewer_faults();
    fewer_users();
    fewer_events();
    return best_;
  }

 private:
  // True when `options` fail in the same way; they are the best then.
  bool fails(const RunOptions& options) {
    if (best_.trials >= trials_max_) return false;
    ++best_.trials;
    Trial trial = try_run(program_, options);
    if (trial.checker != best_.trial.checker) return false;
    best_.options = options;
    best_.trial = std::move(trial);
    return true;
  }

  void fewer_events() {
    // A run that ends earlier has its last quiet time earlier.
    for (int64_t events = best_.options.events / 2; events >= 10; events /= 2) {
      RunOptions options = best_.options;
      options.events = events;
      if (!fails(options)) return;
    }
  }

  void fewer_faults() {
    RunOptions none = best_.options;
    none.faults.clear();
    if (!none.faults.empty() || fails(none)) return;
    for (Fault fault : std::vector<Fault>(best_.options.faults)) {
      RunOptions options = best_.options;
      std::erase(options.faults, fault);
      fails(options);
    }
  }

  void fewer_users() {
    for (int64_t users = 1; users < best_.options.users; users *= 2) {
      RunOptions options = best_.options;
      options.users = users;
      if (fails(options)) return;
    }
  }

  const std::string& program_;
  const int trials_max_;
  Shrunk best_;
};

}  // namespace

Shrunk shrink(const std::string& program, const RunOptions& options, const Trial& failed, int trials_max) {
  return Shrinker(program, options, failed, trials_max).run();
}

}  // namespace moulin::sim
