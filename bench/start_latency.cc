// How long the engine takes from an intent to the first instruction of the program.
//
//   bench_start_latency [FOLDER]
//
// measures: start_engine_p50_ms start_engine_p99_ms
//
// Work: 300 replicas, one after the other, each started through LocalEngine with the real
// `moulin shim`, in the strongest containment that works here: folders, launch file,
// socket, shim, guard, program. The program is a static one of a few instructions that
// writes down the time. The limit is the same program started by a bare posix_spawn with
// an empty environment, in turn with ours. FOLDER is for the attempts; default: the
// current folder.
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "engine/local/local_engine.h"

namespace {

using namespace moulin;

constexpr int kStarts = 300;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

int64_t read_stamp(const std::string& path) {
  int64_t stamp = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&stamp), sizeof stamp);
  MOULIN_CHECK(stamp > 0, "the program wrote its time");
  std::filesystem::remove(path);
  return stamp;
}

double bare_ms(const std::string& program, const std::string& stamp) {
  const char* arguments[] = {program.c_str(), stamp.c_str(), nullptr};
  char* environment[] = {nullptr};
  int64_t asked = now_ns();
  pid_t pid = 0;
  MOULIN_CHECK(::posix_spawn(&pid, program.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environment) == 0);
  ::waitpid(pid, nullptr, 0);
  return static_cast<double>(read_stamp(stamp) - asked) / 1e6;
}

class Exits {
 public:
  void add(const EngineReport& report) {
    const auto* exited = std::get_if<ReplicaExited>(&report);
    if (exited == nullptr) return;
    MOULIN_CHECK(exited->exit.code == 0, exited->exit.error);
    std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    bool came = changed_.wait_for(lock, std::chrono::seconds(30), [&] { return count_ >= count; });
    MOULIN_CHECK(came, "a replica ends within 30 s");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

void print(const char* name, double value, double goal, double limit) {
  fmt::print("{{\"name\":\"{}\",\"value\":{:.3f},\"unit\":\"ms\",\"better\":\"lower\",", name, value);
  fmt::print("\"goal\":{:.0f},\"limit\":{:.3f}}}\n", goal, limit);
}

double at(std::vector<double>& values, int per_cent) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, values.size() * static_cast<size_t>(per_cent) / 100)];
}

void measure(const std::string& folder, const std::filesystem::path& build) {
  std::string program = (build / "tests/first_instruction").string();
  std::string stamp = folder + "/stamp";
  Exits exits;
  auto engine = LocalEngine::open({.data_folder = folder,
                                   .shim_command = {(build / "moulin").string(), "shim"},
                                   .containment = probe_containment()});
  MOULIN_CHECK(engine.has_value(), engine.error().message);
  (*engine)->on_report([&](const EngineReport& report) { exits.add(report); });
  std::vector<double> ours;
  std::vector<double> bare;
  for (int i = 1; i <= kStarts; ++i) {
    bare.push_back(bare_ms(program, stamp));
    ReplicaLaunch launch;
    launch.key = {.workload = {.number = static_cast<uint64_t>(i)}, .attempt = {.value = 1}};
    launch.token = "bench";
    launch.argv = {program, stamp};
    launch.working_folder = folder;
    ReplicaKey key = launch.key;
    int64_t asked = now_ns();
    (*engine)->start(std::move(launch));
    exits.wait_for(i);
    ours.push_back(static_cast<double>(read_stamp(stamp) - asked) / 1e6);
    (*engine)->release(key, "bench");
  }
  print("start_engine_p50_ms", at(ours, 50), 4, at(bare, 50));
  print("start_engine_p99_ms", at(ours, 99), 15, at(bare, 99));
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  std::string folder = std::filesystem::absolute(argc > 1 ? argv[1] : ".").string() + "/start-latency-XXXXXX";
  MOULIN_CHECK(::mkdtemp(folder.data()) != nullptr, "a folder for the attempts can be made");
  measure(folder, build);
  std::filesystem::remove_all(folder);
}
