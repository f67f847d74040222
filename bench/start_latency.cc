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
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "engine/local/local_engine.h"
#include "first_instruction.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr int kStarts = 300;

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

void measure(const std::string& folder, const std::filesystem::path& build) {
  std::string program = (build / "tests/first_instruction").string();
  Stamps stamps(folder + "/stamp");
  Exits exits;
  auto engine = LocalEngine::open({.data_folder = folder,
                                   .shim_command = {(build / "moulin").string(), "shim"},
                                   .containment = probe_containment()});
  MOULIN_CHECK(engine.has_value(), engine.error().message);
  (*engine)->on_report([&](const EngineReport& report) { exits.add(report); });
  std::vector<double> ours;
  std::vector<double> bare;
  for (int i = 1; i <= kStarts; ++i) {
    bare.push_back(bare_ms(program, stamps));
    ReplicaLaunch launch;
    launch.key = {.workload = {.number = static_cast<uint64_t>(i)}, .attempt = {.value = 1}};
    launch.token = "bench";
    launch.argv = {program, stamps.path()};
    launch.working_folder = folder;
    ReplicaKey key = launch.key;
    int64_t asked = now_ns();
    (*engine)->start(std::move(launch));
    ours.push_back(static_cast<double>(stamps.next_ns() - asked) / 1e6);
    exits.wait_for(i);
    (*engine)->release(key, "bench");
  }
  print_ms({.name = "start_engine_p50_ms", .value = percentile(ours, 50), .goal = 4, .limit = percentile(bare, 50)});
  print_ms({.name = "start_engine_p99_ms", .value = percentile(ours, 99), .goal = 15, .limit = percentile(bare, 99)});
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  std::string folder = std::filesystem::absolute(argc > 1 ? argv[1] : ".").string() + "/start-latency-XXXXXX";
  MOULIN_CHECK(::mkdtemp(folder.data()) != nullptr, "a folder for the attempts can be made");
  measure(folder, build);
  std::filesystem::remove_all(folder);
}
