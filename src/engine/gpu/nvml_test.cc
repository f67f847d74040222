#include "engine/gpu/nvml.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <fake_nvml/use_fake_nvml.h>
#include "engine/gpu/gpu_models.h"
#include "engine/gpu/reading.h"

using namespace moulin;

namespace {

constexpr std::string_view kTwoDevices = R"(
driver 570.86.15
cuda 12080
device 0 uuid GPU-1111
device 0 name NVIDIA H100 80GB HBM3
device 0 memory 85520809984 577765376 1073741824
device 0 pci 00000000:3B:00.0
device 0 active 87
device 0 celsius 61
device 0 milliwatts 350000
device 0 ecc 0
device 0 remapped 0 0
device 0 recovery 0
device 0 nvlink 1
device 0 compute 100 1000000000 40
device 0 compute 101 2000000000
device 0 compute 101 500000000
device 0 graphics 101 2500000000
device 0 mps 102 -1
device 1 uuid GPU-2222
device 1 name NVIDIA A100-SXM4-40GB
device 1 memory 42949672960 466616320 0
device 1 migmode 1
device 1 mig MIG-aaaa 1g.5gb 4864
device 1 mig MIG-bbbb 3g.20gb 19968
)";

// A library with its functions loaded, ready to be asked.
struct Session {
  explicit Session(const FakeNvml& fake)
      : nvml(*load_nvml(fake.library()), std::make_shared<CallWatch>([] { return Instant{}; })) {
    CHECK(nvml.init() == nvml::Return::kSuccess);
  }
  Nvml nvml;
  GpuReading look(int32_t index) {
    known.device = *nvml.device(index);
    return read_device(nvml, known, [](int64_t pid) { return pid == 100; });
  }
  KnownDevice known{.device = {}, .uuid = GpuUuid("GPU-1111")};
};

DeviceList list_with(std::initializer_list<std::string_view> missing) {
  FakeNvml fake(kTwoDevices, missing);
  Session session(fake);
  return *list_devices(session.nvml, "/nowhere");
}

GpuReading look_with(std::initializer_list<std::string_view> missing) {
  FakeNvml fake(kTwoDevices, missing);
  Session session(fake);
  return session.look(0);
}

}  // namespace

TEST_CASE("devices are listed with all their facts") {
  FakeNvml fake(kTwoDevices);
  std::string sys = fake.folder() + "/sys/bus/pci/devices/0000:3b:00.0";
  std::filesystem::create_directories(sys);
  std::ofstream(sys + "/numa_node") << "1\n";
  Session session(fake);
  DeviceList list = *list_devices(session.nvml, fake.folder() + "/sys");
  CHECK(list.driver_version == "570.86.15");
  CHECK(list.cuda_version == "12.8");
  REQUIRE(list.gpus.size() == 2);
  CHECK(list.gpus[0].uuid == GpuUuid("GPU-1111"));
  CHECK(list.gpus[0].model == ModelName("H100-80GB"));
  CHECK(list.gpus[0].memory == Bytes{85520809984});
  CHECK(list.gpus[0].usable() == Bytes{85520809984 - 577765376});
  CHECK(list.gpus[0].group == "nvlink-0");
  CHECK(list.gpus[1].group == "nvlink-0");
  CHECK(list.details[0].pci_bus_id == "0000:3b:00.0");
  CHECK(list.details[0].numa_node == 1);
  CHECK_FALSE(list.details[0].mig_enabled);
  CHECK(list.details[0].missing.empty());
  CHECK(list.gpus[1].model == ModelName("A100-40GB"));
  REQUIRE(list.details[1].mig.size() == 2);
  CHECK(list.details[1].mig[1] == MigInstance{GpuUuid("MIG-bbbb"), "3g.20gb", mebibytes(19968)});
}

TEST_CASE("a look gives every measure, and whose processes are there") {
  GpuReading reading = look_with({});
  CHECK(reading.sample.active_milli == 870);
  CHECK(reading.sample.memory_used == Bytes{1073741824});
  CHECK(reading.sample.celsius == 61);
  CHECK(reading.sample.milliwatts == 350000);
  CHECK(reading.sample.ecc_uncorrected == 0);
  REQUIRE(reading.sample.processes.size() == 3);
  CHECK(reading.sample.processes[0].ours);
  CHECK(reading.sample.processes[0].active_milli == 400);
  // Two instances of MIG add up; another list of the same process does not count twice.
  CHECK(reading.sample.processes[1].memory == Bytes{2500000000});
  CHECK(reading.sample.processes[1].active_milli == 0);
  CHECK_FALSE(reading.sample.processes[2].memory.has_value());
  CHECK(reading.sample.foreign_memory() == Bytes{2500000000});
  CHECK(judge(reading.signs) == GpuVerdict{});
}

TEST_CASE("a missing function costs exactly one fact") {
  const GpuReading whole = look_with({});
  auto same_but = [&](std::initializer_list<std::string_view> missing, auto take_away) {
    GpuReading expected = whole;
    take_away(expected.sample);
    CHECK(look_with(missing).sample == expected.sample);
  };
  same_but({"nvmlDeviceGetUtilizationRates"}, [](GpuSample& sample) { sample.active_milli.reset(); });
  same_but({"nvmlDeviceGetPowerUsage"}, [](GpuSample& sample) { sample.milliwatts.reset(); });
  same_but({"nvmlDeviceGetTotalEccErrors"}, [](GpuSample& sample) { sample.ecc_uncorrected.reset(); });
  same_but({"nvmlDeviceGetTemperatureV"}, [](GpuSample&) {});
  same_but({"nvmlDeviceGetTemperature"}, [](GpuSample&) {});
  same_but({"nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"},
           [](GpuSample& sample) { sample.celsius.reset(); });
  same_but({"nvmlDeviceGetRemappedRows"}, [](GpuSample&) {});
  same_but({"nvmlDeviceGetFieldValues"}, [](GpuSample&) {});
  same_but({"nvmlDeviceGetProcessesUtilizationInfo"}, [](GpuSample&) {});
  same_but({"nvmlDeviceGetProcessUtilization", "nvmlDeviceGetProcessesUtilizationInfo"}, [](GpuSample& sample) {
    for (GpuProcess& process : sample.processes) process.active_milli.reset();
  });
  same_but({"nvmlDeviceGetComputeRunningProcesses_v3"}, [](GpuSample&) {});  // the old form has the same
  same_but({"nvmlDeviceGetMPSComputeRunningProcesses_v3"}, [](GpuSample& sample) { sample.processes.pop_back(); });
  same_but({"nvmlDeviceGetMemoryInfo"}, [](GpuSample&) {});
  // The old call counts the reserve as used.
  same_but({"nvmlDeviceGetMemoryInfo_v2"}, [](GpuSample& sample) { *sample.memory_used += Bytes{577765376}; });
}

TEST_CASE("a missing function is said among the facts of the device") {
  DeviceList list = list_with({"nvmlDeviceGetName"});
  CHECK(list.details[0].missing == std::vector<std::string>{"product name: not in this version of the library"});
  CHECK(list.gpus[0].model == ModelName("GPU-80GB"));
  list = list_with({"nvmlDeviceGetMemoryInfo_v2"});
  REQUIRE(list.details[0].missing.size() == 1);
  CHECK(list.gpus[0].memory == Bytes{85520809984});
  CHECK(list.gpus[0].reserve == driver_reserve(Bytes{85520809984}));
  list = list_with({"nvmlDeviceGetPciInfo_v3"});
  CHECK(list.details[0].pci_bus_id == "0000:3b:00.0");
  list = list_with({"nvmlDeviceGetP2PStatus"});
  CHECK(list.gpus[0].group.empty());
  CHECK(list.details[0].missing == std::vector<std::string>{"NVLink: not in this version of the library"});
  list = list_with({"nvmlDeviceGetAttributes_v2"});
  CHECK(list.details[1].mig[0].profile == "1g.5gb");
  list = list_with({"nvmlDeviceGetMaxMigDeviceCount"});
  CHECK(list.details[1].mig_enabled);
  CHECK(list.details[1].mig.empty());
  list = list_with({"nvmlSystemGetCudaDriverVersion_v2"});
  CHECK(list.cuda_version.empty());
  CHECK(list.driver_version == "570.86.15");
}

TEST_CASE("without the four functions that are needed, the library is refused by name") {
  for (std::string_view needed :
       {"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID"}) {
    FakeNvml fake(kTwoDevices, {needed});
    Result<NvmlFunctions> functions = load_nvml(fake.library());
    REQUIRE_FALSE(functions);
    CHECK(functions.error().code == Code::kInternal);
  }
  CHECK(load_nvml("/nowhere/libnvidia-ml.so.1").error().code == Code::kNotFound);
}

TEST_CASE("a lost device, one that needs a reset, and one that is blocked") {
  auto reach = [](std::string_view fail) {
    FakeNvml fake(std::string(kTwoDevices) + std::string(fail));
    Session session(fake);
    return session.look(0).signs.reach;
  };
  CHECK(reach("fail * 15 1\n") == Reach::kAnswers);  // the other device
  FakeNvml fake(kTwoDevices);
  Session session(fake);
  session.look(0);
  auto later = [&](std::string_view fail) {
    fake.play(std::string(kTwoDevices) + std::string(fail));
    return read_device(session.nvml, session.known, {}).signs.reach;
  };
  CHECK(later("fail * 15 0\n") == Reach::kLost);
  CHECK(later("fail nvmlDeviceGetPowerUsage 15 0\n") == Reach::kLost);
  CHECK(later("fail * 16 0\n") == Reach::kNeedsReset);
  CHECK(later("fail * 17 0\n") == Reach::kBlocked);
  CHECK(later("fail * 999 0\n") == Reach::kFails);
  CHECK(later("fail nvmlDeviceGetPowerUsage 999 0\n") == Reach::kAnswers);
  CHECK(later("fail * 3 0\n") == Reach::kAnswers);
}

TEST_CASE("a device that has no handle is left out with a sentence") {
  FakeNvml fake(std::string(kTwoDevices) + "fail nvmlDeviceGetHandleByIndex_v2 15 0\n");
  Session session(fake);
  DeviceList list = *list_devices(session.nvml, "/nowhere");
  REQUIRE(list.gpus.size() == 1);
  CHECK(list.gpus[0].uuid == GpuUuid("GPU-2222"));
  CHECK(list.unreachable == std::vector<std::string>{"device 0: the device is lost"});
}

TEST_CASE("more processes than fit at first") {
  std::string script(kTwoDevices);
  for (int pid = 1000; pid < 1500; ++pid) script += "device 0 compute " + std::to_string(pid) + " 1 1\n";
  FakeNvml fake(script);
  Session session(fake);
  CHECK(session.look(0).sample.processes.size() == 503);
}

TEST_CASE("XIDs are heard once, in order, and waiting has an end") {
  FakeNvml fake(std::string(kTwoDevices) + "device 1 xid 79\n");
  Session session(fake);
  std::vector<NvmlDevice> devices{*session.nvml.device(0), *session.nvml.device(1)};
  nvml::EventSet set = *session.nvml.listen_for_xids(devices);
  NvmlAnswer<Nvml::Xid> xid = session.nvml.wait_for_xid(set, milliseconds(5));
  REQUIRE(xid);
  CHECK(xid->number == 79);
  CHECK(xid->device == devices[1].handle);
  CHECK(session.nvml.wait_for_xid(set, milliseconds(4)).error() == nvml::Return::kTimeout);
}

TEST_CASE("devices that cannot report XIDs do not keep the others from it") {
  FakeNvml some(std::string(kTwoDevices) + "fail nvmlDeviceRegisterEvents 3 0\n");
  Session session(some);
  std::vector<NvmlDevice> devices{*session.nvml.device(0), *session.nvml.device(1)};
  CHECK(session.nvml.listen_for_xids(devices));
  some.play(std::string(kTwoDevices) + "fail nvmlDeviceRegisterEvents 3\n");
  CHECK(session.nvml.listen_for_xids(devices).error() == nvml::Return::kNotSupported);
  FakeNvml none(kTwoDevices, {"nvmlEventSetWait_v2"});
  Session without(none);
  CHECK(without.nvml.listen_for_xids(devices).error() == nvml::Return::kFunctionNotFound);
}

TEST_CASE("every code has words") {
  CHECK(to_text(nvml::Return::kGpuIsLost) == "the device is lost");
  CHECK(to_text(static_cast<nvml::Return>(4711)) == "code 4711");
}
