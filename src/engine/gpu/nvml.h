// The driver's management library, loaded at run time and called safely.
//
// Four functions are needed: without nvmlInit, the device count, handles and UUIDs there
// is nothing to work with. Every other one may be missing, and then exactly one fact is:
// each method answers on its own, with a value or with the library's return code.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/share.h"
#include "engine/gpu/call_watch.h"
#include "engine/gpu/nvml_abi.h"

namespace moulin {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

template <class T>
using NvmlAnswer = std::expected<T, nvml::Return>;

// "not supported by this device", for messages; "code 42" for codes that we do not know.
std::string to_text(nvml::Return code);

// The functions of the library; nullptr where it has none of that name.
struct NvmlFunctions {
  nvml::Init* init = nullptr;
  nvml::GetCount* count = nullptr;
  nvml::GetHandleByIndex* handle_by_index = nullptr;
  nvml::GetDeviceText* uuid = nullptr;
  nvml::GetSystemText* driver_version = nullptr;
  nvml::GetSystemInt* cuda_version = nullptr;
  nvml::GetDeviceText* name = nullptr;
  nvml::GetMemory* memory = nullptr;
  nvml::GetMemoryV2* memory_v2 = nullptr;
  nvml::GetPciInfo* pci_info = nullptr;
  nvml::GetUtilization* utilization = nullptr;
  nvml::GetTemperature* temperature = nullptr;
  nvml::GetTemperatureV* temperature_v = nullptr;
  nvml::GetDeviceUint* power_usage = nullptr;
  nvml::GetTotalEccErrors* ecc_errors = nullptr;
  nvml::GetRemappedRows* remapped_rows = nullptr;
  nvml::GetFieldValues* field_values = nullptr;
  // Three lists of processes, each with a new (24 bytes an entry) and an old (16) form.
  nvml::GetProcesses* compute_processes = nullptr;
  nvml::GetProcesses* graphics_processes = nullptr;
  nvml::GetProcesses* mps_processes = nullptr;
  nvml::GetProcesses* compute_processes_v1 = nullptr;
  nvml::GetProcesses* graphics_processes_v1 = nullptr;
  nvml::GetProcesses* mps_processes_v1 = nullptr;
  nvml::GetProcessSamples* process_samples = nullptr;
  nvml::GetProcessesUtilization* processes_utilization = nullptr;
  nvml::GetMigMode* mig_mode = nullptr;
  nvml::GetDeviceUint* mig_count_max = nullptr;
  nvml::GetMigDeviceByIndex* mig_by_index = nullptr;
  nvml::GetMigAttributes* mig_attributes = nullptr;
  nvml::GetP2pStatus* p2p_status = nullptr;
  nvml::EventSetCreate* event_set_create = nullptr;
  nvml::GetEventTypes* event_types = nullptr;
  nvml::RegisterEvents* register_events = nullptr;
  nvml::EventSetWait* event_set_wait = nullptr;
};

// Opens the library (never closed again: a hung call may still be inside) and finds its
// functions. kNotFound: no such library. kInternal: it lacks one of the four.
Result<NvmlFunctions> load_nvml(const std::string& path);

struct NvmlMemory {
  Bytes total;
  Bytes used;                  // by processes
  Bytes reserved;              // by the driver
  bool reserve_known = false;  // false: an estimate, and `used` includes what it really is
};

struct NvmlProcess {
  int64_t pid = 0;
  std::optional<Bytes> memory;  // empty: the driver hides it (inside a container, or under WDDM)
};

struct NvmlActivity {
  int64_t pid = 0;
  int32_t sm_per_cent = 0;
  uint64_t timestamp = 0;
};

struct NvmlRows {
  bool pending = false;  // a reset will remap a broken row
  bool failed = false;   // no spare row was left
};

struct NvmlMig {
  bool enabled = false;
  struct Instance {
    std::string uuid;
    std::string profile;  // "1g.10gb"; empty when unknown
    Bytes memory{};
  };
  std::vector<Instance> instances{};
};

struct NvmlDevice {
  nvml::Device handle = nullptr;
  int32_t index = 0;
};

// Calls, each marked in a CallWatch. For one thread; several Nvml may share functions.
class Nvml {
 public:
  Nvml(NvmlFunctions functions, std::shared_ptr<CallWatch> watch) : functions_(functions), watch_(std::move(watch)) {}

  nvml::Return init();
  NvmlAnswer<int32_t> count();
  NvmlAnswer<NvmlDevice> device(int32_t index);
  NvmlAnswer<std::string> driver_version();
  NvmlAnswer<std::string> cuda_version();  // "12.8"

  NvmlAnswer<std::string> uuid(NvmlDevice device);
  NvmlAnswer<std::string> name(NvmlDevice device);
  NvmlAnswer<NvmlMemory> memory(NvmlDevice device);
  NvmlAnswer<std::string> pci_bus_id(NvmlDevice device);  // as sysfs spells it: "0000:3b:00.0"
  NvmlAnswer<NvmlMig> mig(NvmlDevice device);
  // Whether two devices reach each other over NVLink, also through a switch.
  NvmlAnswer<bool> nvlink_between(NvmlDevice one, NvmlDevice other);

  NvmlAnswer<int32_t> active_per_cent(NvmlDevice device);
  NvmlAnswer<int32_t> celsius(NvmlDevice device);
  NvmlAnswer<int64_t> milliwatts(NvmlDevice device);
  NvmlAnswer<int64_t> ecc_uncorrected(NvmlDevice device);
  NvmlAnswer<NvmlRows> remapped_rows(NvmlDevice device);
  // What the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 no peer-to-peer, 4 drain and reset.
  NvmlAnswer<int32_t> recovery_action(NvmlDevice device);
  // All processes with a context, by pid, at most 4,096.
  NvmlAnswer<std::vector<NvmlProcess>> processes(NvmlDevice device);
  // Those that did work since `last_seen` (a timestamp of an earlier answer), newest value each.
  NvmlAnswer<std::vector<NvmlActivity>> process_activity(NvmlDevice device, uint64_t last_seen);

  // A set that hears of XIDs. Devices that cannot report are left out; kNotSupported when
  // none can.
  NvmlAnswer<nvml::EventSet> listen_for_xids(const std::vector<NvmlDevice>& devices);
  struct Xid {
    nvml::Device device = nullptr;
    int32_t number = 0;
  };
  // Blocks for at most `timeout`, whole milliseconds. kTimeout: nothing happened.
  NvmlAnswer<Xid> wait_for_xid(nvml::EventSet set, Duration timeout);

 private:
  template <class Function, class... Arguments>
  nvml::Return call(const char* name, int32_t device, Function* function, Arguments... arguments) {
    if (function == nullptr) return nvml::Return::kFunctionNotFound;
    watch_->enter(name, device);
    nvml::Return answer = function(arguments...);
    watch_->leave();
    return answer;
  }
  NvmlAnswer<std::string> device_text(const char* name, NvmlDevice device, nvml::GetDeviceText* function);
  NvmlAnswer<std::vector<nvml::ProcessV2>> process_list(const char* name, NvmlDevice device,
                                                        nvml::GetProcesses* function, nvml::GetProcesses* old);
  NvmlMig::Instance mig_instance(NvmlDevice mig);

  NvmlFunctions functions_;
  std::shared_ptr<CallWatch> watch_;
};

}  // namespace moulin
