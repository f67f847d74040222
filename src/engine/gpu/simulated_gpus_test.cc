#include "engine/gpu/simulated_gpus.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/check.h"
#include "engine/gpu/find_gpus.h"
#include "engine/gpu/gpu_models.h"

using namespace moulin;

namespace {

const GpuUuid kFirst{"GPU-sim-000-00"}, kSecond{"GPU-sim-000-01"};

// A data folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moulin-simulated-XXXXXX").string();
    MOULIN_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary folder");
    path_ = pattern;
    std::filesystem::create_directory(path_ + "/simulated");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  // Atomic, because somebody looks at the folder all the time.
  void declare(const GpuUuid& uuid, std::string_view text) const {
    std::ofstream(path_ + "/next") << text;
    std::filesystem::rename(path_ + "/next", path_ + "/simulated/" + uuid.text + ".json");
  }

 private:
  std::string path_;
};

std::string refusal(std::string_view text) {
  Result<GpuReading> reading = parse_declaration(kFirst, text);
  return reading ? "accepted" : reading.error().to_text();
}

}  // namespace

TEST_CASE("simulated nodes are marked, and their devices have a model, memory and a reserve") {
  std::unique_ptr<Gpus> gpus = *find_gpus({.simulate = "2x(8xH100-80GB)+1xL4"});
  GpuInventory inventory = *gpus->discover();
  CHECK(inventory.source == GpuSource::kSimulated);
  REQUIRE(inventory.nodes.size() == 3);
  CHECK(inventory.nodes[0].simulated);
  CHECK(inventory.nodes[1].gpus[3].uuid == GpuUuid("GPU-sim-001-03"));
  CHECK(inventory.nodes[1].gpus[3].reserve == driver_reserve(mebibytes(81559)));
  CHECK(inventory.nodes[2].gpus[0].group.empty());
  CHECK(inventory.nodes[2].gpus[0].model == ModelName("L4-24GB"));
}

TEST_CASE("a declaration stands for a reading") {
  GpuReading reading = *parse_declaration(
      kFirst, R"({"active": 0.85, "xids": [79], "foreign": [{"pid": 47, "name": "python", "memory": "20GiB"}]})");
  CHECK(reading.sample.active_milli == 850);
  CHECK(judge(reading.signs).health == Health::kUnhealthy);
  REQUIRE(reading.sample.processes.size() == 1);
  CHECK(reading.sample.processes[0] == GpuProcess{.pid = 47, .name = "python", .memory = gibibytes(20)});
  CHECK(judge(parse_declaration(kFirst, R"({"health": "unknown", "reason": "no idea"})")->signs) ==
        GpuVerdict{.health = Health::kUnknown, .reason = "no idea"});
  CHECK(judge(parse_declaration(kFirst, R"({"health": "unhealthy"})")->signs).reason ==
        "declared in simulated/GPU-sim-000-00.json");
  CHECK(judge(parse_declaration(kFirst, "{}")->signs) == GpuVerdict{});
}

TEST_CASE("a wrong declaration is refused by field") {
  CHECK(refusal(R"({"helth": "unhealthy"})").find("helth: not allowed") == 0);
  CHECK(refusal(R"({"health": "sick"})").find("healthy, unhealthy or unknown") != std::string::npos);
  CHECK(refusal(R"({"active": 1.5})").find("active: ") == 0);
  CHECK(refusal(R"({"active": "1"})").find("active: ") == 0);
  CHECK(refusal(R"({"xids": [0]})").find("xids: ") == 0);
  CHECK(refusal(R"({"xids": 79})").find("xids: ") == 0);
  CHECK(refusal(R"({"foreign": [{"pid": -1}]})").find("foreign.pid: ") == 0);
  CHECK(refusal(R"({"foreign": [{"user": "x", "pid": 1}]})").find("foreign.user: ") == 0);
  CHECK(refusal("[]") != "accepted");
  CHECK(refusal("{") != "accepted");
}

TEST_CASE("declarations of devices that do not exist, and other files, are ignored") {
  Folder folder;
  std::vector<SimulatedNode> nodes = *parse_simulate_spec("(2xT4)+(1cpu)+(1xT4)");
  folder.declare(kSecond, R"({"xids": [79]})");
  folder.declare(GpuUuid("GPU-sim-001-00"), "{}");
  folder.declare(GpuUuid("GPU-sim-002-00"), "nonsense");
  folder.declare(GpuUuid("GPU-sim-000-02"), "{}");
  folder.declare(GpuUuid("GPU-"), "{}");
  folder.declare(GpuUuid("zzz"), "{}");
  std::ofstream(folder.path() + "/simulated/notes.txt") << "hello";
  std::map<GpuUuid, GpuReading> readings = read_declarations(folder.path() + "/simulated", nodes);
  REQUIRE(readings.size() == 2);
  CHECK(readings.contains(kSecond));
  GpuVerdict broken = judge(readings.at(GpuUuid("GPU-sim-002-00")).signs);
  CHECK(broken.health == Health::kHealthy);
  CHECK(broken.reason.find("simulated/GPU-sim-002-00.json: ") == 0);
  CHECK(read_declarations("/nowhere", nodes).empty());
}

TEST_CASE("declarations work while running, and forgetting takes them back") {
  Folder folder;
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<GpuChange> changes;
  SimulatedGpus gpus({.nodes = *parse_simulate_spec("8xH100-80GB"),
                      .data_folder = folder.path(),
                      .period = milliseconds(2),
                      .activity = [] { return std::map<GpuUuid, int32_t>{{kFirst, 250}}; }});
  CHECK(gpus.discover());
  CHECK(gpus.latest()->pass == 0);
  gpus.watch({.is_ours = {}, .on_change = [&](std::vector<GpuChange> some) {
                std::lock_guard lock(mutex);
                changes.insert(changes.end(), some.begin(), some.end());
                arrived.notify_all();
              }});
  auto next = [&] {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return !changes.empty(); });
    GpuChange change = changes.front();
    changes.pop_front();
    return change;
  };
  folder.declare(kSecond, R"({"xids": [79], "foreign": [{"pid": 47}]})");
  GpuChange change = next();
  CHECK(change.uuid == kSecond);
  CHECK(change.verdict.health == Health::kUnhealthy);
  CHECK(change.foreign.size() == 1);
  CHECK(gpus.latest()->find(kFirst)->active_milli == 250);
  gpus.forget_faults(kSecond);
  change = next();
  CHECK(change.verdict == GpuVerdict{});
  CHECK(change.foreign.empty());
}
