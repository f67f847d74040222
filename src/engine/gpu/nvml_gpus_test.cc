#include "engine/gpu/nvml_gpus.h"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include <fake_nvml/use_fake_nvml.h>
#include "engine/gpu/check_gpu.h"
#include "engine/gpu/find_gpus.h"

using namespace moulin;

namespace {

constexpr std::string_view kOneDevice = R"(
driver 570.86.15
cuda 12080
device 0 uuid GPU-1111
device 0 name NVIDIA H100 80GB HBM3
device 0 memory 85520809984 577765376 0
device 0 celsius 40
device 1 uuid GPU-2222
device 1 name NVIDIA H100 80GB HBM3
device 1 memory 85520809984 577765376 0
device 1 celsius 41
)";
const GpuUuid kOne{"GPU-1111"}, kTwo{"GPU-2222"};

// Waits for what a Gpus reports. Bounded by ctest's limit only: no wall clock in a test.
class Watched {
 public:
  GpuWatcher watcher() {
    return {.is_ours = [](int64_t pid) { return pid == 100; },
            .on_change =
                [this](std::vector<GpuChange> changes) {
                  std::lock_guard lock(mutex_);
                  changes_.insert(changes_.end(), changes.begin(), changes.end());
                  arrived_.notify_all();
                }};
  }
  GpuChange next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !changes_.empty(); });
    GpuChange change = changes_.front();
    changes_.pop_front();
    return change;
  }
  // A change of this device that fits, of those not taken by next().
  template <class Fits>
  GpuChange until(const GpuUuid& uuid, Fits fits) {
    std::unique_lock lock(mutex_);
    for (;;) {
      for (size_t i = 0; i < changes_.size(); ++i) {
        if (changes_[i].uuid == uuid && fits(changes_[i])) return changes_[i];
      }
      arrived_.wait(lock);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<GpuChange> changes_;
};

NvmlGpusOptions quick(const FakeNvml& fake) {
  return {.library = fake.library(),
          .sys_folder = "/nowhere",
          .data_folder = fake.folder(),
          .period = milliseconds(2),
          .event_wait = milliseconds(4),
          .publish_tick = milliseconds(2)};
}

std::string script_with(std::string_view more) { return std::string(kOneDevice) + std::string(more); }

}  // namespace

TEST_CASE("discovery gives this machine as one node") {
  FakeNvml fake(kOneDevice);
  std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(quick(fake));
  GpuInventory inventory = *gpus->discover();
  CHECK(inventory.source == GpuSource::kDriver);
  CHECK(inventory.driver_version == "570.86.15");
  REQUIRE(inventory.nodes.size() == 1);
  CHECK(inventory.nodes[0].gpus.size() == 2);
  CHECK(inventory.nodes[0].cpu.milli > 0);
  CHECK(inventory.nodes[0].memory.count > 0);
  CHECK_FALSE(inventory.nodes[0].simulated);
  CHECK(gpus->latest()->pass == 0);
}

TEST_CASE("no driver, another version, and no devices are normal answers with a note") {
  auto note = [](std::string_view script) {
    FakeNvml fake(script);
    std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(quick(fake));
    GpuInventory inventory = *gpus->discover();
    CHECK(inventory.source == GpuSource::kNone);
    CHECK(inventory.nodes.size() == 1);
    gpus->watch({});
    return inventory.note;
  };
  CHECK(note("init 9\n").find("the driver is not loaded") != std::string::npos);
  CHECK(note("init 18\n").find("different versions") != std::string::npos);
  CHECK(note("init 4242\n").find("code 4242") != std::string::npos);
  CHECK(note("driver 1\n") == "the driver finds no NVIDIA device");
}

TEST_CASE("an XID makes its device unhealthy, is remembered, and can be forgotten") {
  FakeNvml fake(kOneDevice);
  {
    Watched watched;
    std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(quick(fake));
    CHECK(gpus->discover());
    gpus->watch(watched.watcher());
    fake.play(script_with("device 1 xid 79\n"));
    GpuChange change = watched.next();
    CHECK(change.uuid == kTwo);
    CHECK(change.verdict.health == Health::kUnhealthy);
  }
  fake.play(kOneDevice);
  Watched watched;
  std::unique_ptr<NvmlGpus> again = *NvmlGpus::open(quick(fake));
  GpuInventory inventory = *again->discover();
  CHECK(inventory.nodes[0].gpus[0].health == Health::kHealthy);
  CHECK(inventory.nodes[0].gpus[1].health == Health::kUnhealthy);
  again->watch(watched.watcher());
  CHECK(watched.next().verdict.health == Health::kUnhealthy);
  again->forget_faults(kTwo);
  CHECK(watched.next().verdict == GpuVerdict{});
}

TEST_CASE("ECC errors, a foreign process, and a lost device are noticed while running") {
  FakeNvml fake(kOneDevice);
  Watched watched;
  std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(quick(fake));
  CHECK(gpus->discover());
  gpus->watch(watched.watcher());
  fake.play(script_with("device 0 ecc 1\n"));
  CHECK(watched.next().verdict.health == Health::kUnhealthy);
  fake.play(script_with("device 0 compute 100 1 1\ndevice 0 compute 4194999 1073741824 1\n"));
  // A reading under way when the script changes sees some of either: its change comes too.
  auto well_but_shared = [](const GpuChange& change) {
    return change.verdict == GpuVerdict{} && change.foreign.size() == 1;
  };
  CHECK(watched.until(kOne, well_but_shared).foreign[0].pid == 4194999);
  fake.play(script_with("fail * 15 0\n"));
  auto lost = [](const GpuChange& change) { return change.verdict.reason.find("lost") != std::string::npos; };
  CHECK(watched.until(kOne, lost).verdict.health == Health::kUnhealthy);
}

TEST_CASE("a call that hangs makes the devices unknown and stops nobody") {
  struct Case {
    std::string_view function;
    std::optional<int> device;
    std::string_view sentence;
  };
  for (Case one : {Case{"nvmlDeviceGetPowerUsage", 0, "nvmlDeviceGetPowerUsage about device 0 for more than 20s"},
                   Case{"nvmlEventSetWait_v2", {}, "nvmlEventSetWait for more than 20s"}}) {
    CAPTURE(one.function);
    FakeNvml fake(kOneDevice);
    std::string hang = fake.hang(one.function, one.device);
    std::atomic<int64_t> now = 0;
    Watched watched;
    NvmlGpusOptions options = quick(fake);
    options.clock = [&now] { return Instant{now.load()}; };
    options.call_bound = seconds(20);
    std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(options);
    CHECK(gpus->discover());
    gpus->watch(watched.watcher());
    fake.play(script_with(hang));
    fake.wait_inside();
    now = seconds(21).us;
    // The clock jumps, so a call on the other thread may look hung for a moment too.
    auto hung = [&](const GpuChange& change) { return change.verdict.reason.find(one.sentence) != std::string::npos; };
    CHECK(watched.until(kOne, hung).verdict.health == Health::kUnknown);
    CHECK(watched.until(kTwo, hung).verdict.health == Health::kUnknown);
    CHECK(gpus->latest()->devices.size() == 2);
    fake.play(kOneDevice);
    fake.release();
    auto well = [](const GpuChange& change) { return change.verdict == GpuVerdict{}; };
    CHECK(watched.until(kTwo, well).foreign.empty());
  }
}

TEST_CASE("a driver that hangs at discovery is an error, and destruction does not wait for it") {
  FakeNvml fake(kOneDevice);
  fake.play(script_with(fake.hang("nvmlInit_v2")));
  NvmlGpusOptions options = quick(fake);
  options.load_bound = milliseconds(20);
  options.stop_bound = milliseconds(20);
  {
    std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(options);
    Result<GpuInventory> inventory = gpus->discover();
    REQUIRE_FALSE(inventory);
    CHECK(inventory.error().code == Code::kUnavailable);
    gpus->watch({});
  }
  fake.play(kOneDevice);
  fake.wait_inside();
  fake.release();
}

TEST_CASE("check_gpu prints what it sees and gives an exit code") {
  auto check = [](std::string_view script) {
    FakeNvml fake(script);
    std::unique_ptr<NvmlGpus> gpus = *NvmlGpus::open(quick(fake));
    std::FILE* out = std::fopen((fake.folder() + "/out").c_str(), "w");
    REQUIRE(out != nullptr);
    GpuCheck result = check_gpu(*gpus, out);
    std::fclose(out);
    return result;
  };
  CHECK(check(kOneDevice) == GpuCheck::kAllWell);
  CHECK(check(script_with("device 1 ecc 3\n")) == GpuCheck::kSomethingIll);
  CHECK(check("driver 1\n") == GpuCheck::kNoGpus);
}

TEST_CASE("a machine without the library offers its CPUs and says why") {
  std::unique_ptr<Gpus> gpus = *find_gpus({.library = "/nowhere/libnvidia-ml.so.1"});
  GpuInventory inventory = *gpus->discover();
  CHECK(inventory.source == GpuSource::kNone);
  CHECK(inventory.note.find("no NVIDIA driver on this machine") == 0);
  REQUIRE(inventory.nodes.size() == 1);
  CHECK(inventory.nodes[0].gpus.empty());
  gpus->watch({});
  CHECK(gpus->latest()->devices.empty());
}

TEST_CASE("the library is found by path, and a wrong description of a simulation is refused") {
  FakeNvml fake(kOneDevice);
  std::unique_ptr<Gpus> gpus = *find_gpus({.library = fake.library()});
  CHECK(gpus->discover()->nodes[0].gpus.size() == 2);
  CHECK(find_gpus({.simulate = "8xNothing"}).error().code == Code::kInvalid);
}
