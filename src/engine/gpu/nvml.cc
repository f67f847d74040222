#include "engine/gpu/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <map>

#include "engine/gpu/gpu_models.h"
#include "model/node.h"

namespace moulin {

namespace {

constexpr uint32_t kListRoom = 64;
constexpr uint32_t kListRoomMax = 4096;
constexpr int kListTries = 4;  // the list may grow between two calls
constexpr uint32_t kMigInstancesMax = 16;

using nvml::Return;

template <class Function>
void find(void* library, Function*& slot, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    slot = reinterpret_cast<Function*>(dlsym(library, name));
    if (slot != nullptr) return;
  }
}

void find_device_functions(void* library, NvmlFunctions& f) {
  find(library, f.name, {"nvmlDeviceGetName"});
  find(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(library, f.pci_info, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  find(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, f.temperature, {"nvmlDeviceGetTemperature"});
  find(library, f.temperature_v, {"nvmlDeviceGetTemperatureV"});
  find(library, f.power_usage, {"nvmlDeviceGetPowerUsage"});
  find(library, f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(library, f.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  find(library, f.field_values, {"nvmlDeviceGetFieldValues"});
  find(library, f.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, f.mig_count_max, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(library, f.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(library, f.mig_attributes, {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"});
  find(library, f.p2p_status, {"nvmlDeviceGetP2PStatus"});
}

void find_process_functions(void* library, NvmlFunctions& f) {
  find(library, f.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(library, f.graphics_processes,
       {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  find(library, f.mps_processes,
       {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  find(library, f.compute_processes_v1, {"nvmlDeviceGetComputeRunningProcesses"});
  find(library, f.graphics_processes_v1, {"nvmlDeviceGetGraphicsRunningProcesses"});
  find(library, f.mps_processes_v1, {"nvmlDeviceGetMPSComputeRunningProcesses"});
  find(library, f.process_samples, {"nvmlDeviceGetProcessUtilization"});
  find(library, f.processes_utilization, {"nvmlDeviceGetProcessesUtilizationInfo"});
}

void find_event_functions(void* library, NvmlFunctions& f) {
  find(library, f.event_set_create, {"nvmlEventSetCreate"});
  find(library, f.event_types, {"nvmlDeviceGetSupportedEventTypes"});
  find(library, f.register_events, {"nvmlDeviceRegisterEvents"});
  find(library, f.event_set_wait, {"nvmlEventSetWait_v2", "nvmlEventSetWait"});
}

std::string bounded_text(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

// Calls `call(items, &count)` with more room until the whole list fits.
template <class Item, class Call>
NvmlAnswer<std::vector<Item>> read_list(Call call) {
  uint32_t room = kListRoom;
  for (int i = 0; i < kListTries; ++i) {
    std::vector<Item> items(room);
    uint32_t count = room;
    Return answer = call(items.data(), &count);
    if (answer == Return::kInsufficientSize) {
      room = std::min(std::max(count, room * 2), kListRoomMax);
      continue;
    }
    if (answer != Return::kSuccess) return std::unexpected(answer);
    items.resize(std::min(count, room));
    return items;
  }
  return std::unexpected(Return::kInsufficientSize);
}

// The library writes "00000000:3B:00.0", sysfs has "0000:3b:00.0".
std::string sysfs_bus_id(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  size_t domain = text.find(':');
  return domain == 8 && text.starts_with("0000") ? text.substr(4) : text;
}

// "NVIDIA A100-SXM4-40GB MIG 1g.5gb" is "1g.5gb".
std::string mig_profile(const std::string& name) {
  size_t at = name.rfind("MIG ");
  return at == std::string::npos ? "" : name.substr(at + 4);
}

}  // namespace

std::string to_text(Return code) {
  switch (code) {
    case Return::kSuccess: return "success";
    case Return::kUninitialized: return "the library is not initialised";
    case Return::kInvalidArgument: return "invalid argument";
    case Return::kNotSupported: return "not supported by this device";
    case Return::kNoPermission: return "no permission";
    case Return::kNotFound: return "not found";
    case Return::kInsufficientSize: return "the answer did not fit";
    case Return::kDriverNotLoaded: return "the driver is not loaded";
    case Return::kTimeout: return "time ran out";
    case Return::kFunctionNotFound: return "not in this version of the library";
    case Return::kGpuIsLost: return "the device is lost";
    case Return::kResetRequired: return "the device needs a reset";
    case Return::kOperatingSystem: return "the operating system blocks the device";
    case Return::kVersionMismatch: return "library and kernel module have different versions";
    case Return::kArgumentVersionMismatch: return "the library does not know this version of the call";
    case Return::kUnknown: return "an unknown error of the driver";
  }
  return fmt::format("code {}", static_cast<int32_t>(code));
}

Result<NvmlFunctions> load_nvml(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Error{.code = Code::kNotFound,
                 .message = fmt::format("cannot load {}: {}", path, why == nullptr ? "" : why)};
  }
  NvmlFunctions f;
  find(library, f.init, {"nvmlInit_v2", "nvmlInit"});
  find(library, f.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(library, f.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(library, f.uuid, {"nvmlDeviceGetUUID"});
  if (f.init == nullptr || f.count == nullptr || f.handle_by_index == nullptr || f.uuid == nullptr) {
    return Error{.code = Code::kInternal,
                 .message = fmt::format("{} lacks nvmlInit, nvmlDeviceGetCount, nvmlDeviceGetHandleByIndex or "
                                        "nvmlDeviceGetUUID",
                                        path),
                 .to_do = "install a whole NVIDIA driver"};
  }
  find(library, f.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find_device_functions(library, f);
  find_process_functions(library, f);
  find_event_functions(library, f);
  return f;
}

template <class Function, class... Arguments>
Return Nvml::call(const char* name, int32_t device, Function* function, Arguments... arguments) {
  if (function == nullptr) return Return::kFunctionNotFound;
  watch_->enter(name, device);
  Return answer = function(arguments...);
  watch_->leave();
  return answer;
}

Return Nvml::init() { return call("nvmlInit", -1, functions_.init); }

NvmlAnswer<int32_t> Nvml::count() {
  uint32_t count = 0;
  Return answer = call("nvmlDeviceGetCount", -1, functions_.count, &count);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return static_cast<int32_t>(std::min<uint64_t>(count, kGpusPerNodeMax));
}

NvmlAnswer<NvmlDevice> Nvml::device(int32_t index) {
  NvmlDevice device{.handle = nullptr, .index = index};
  Return answer = call("nvmlDeviceGetHandleByIndex", index, functions_.handle_by_index, static_cast<uint32_t>(index),
                       &device.handle);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return device;
}

NvmlAnswer<std::string> Nvml::driver_version() {
  char text[nvml::kVersionSize] = {};
  Return answer = call("nvmlSystemGetDriverVersion", -1, functions_.driver_version, text, nvml::kVersionSize);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return bounded_text(text, sizeof text);
}

NvmlAnswer<std::string> Nvml::cuda_version() {
  int version = 0;
  Return answer = call("nvmlSystemGetCudaDriverVersion", -1, functions_.cuda_version, &version);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

NvmlAnswer<std::string> Nvml::device_text(const char* name, NvmlDevice device, nvml::GetDeviceText* function) {
  char text[nvml::kNameSize] = {};
  Return answer = call(name, device.index, function, device.handle, text, nvml::kNameSize);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return bounded_text(text, sizeof text);
}

NvmlAnswer<std::string> Nvml::uuid(NvmlDevice device) {
  return device_text("nvmlDeviceGetUUID", device, functions_.uuid);
}

NvmlAnswer<std::string> Nvml::name(NvmlDevice device) {
  return device_text("nvmlDeviceGetName", device, functions_.name);
}

NvmlAnswer<NvmlMemory> Nvml::memory(NvmlDevice device) {
  nvml::MemoryV2 newer{};
  Return answer = call("nvmlDeviceGetMemoryInfo_v2", device.index, functions_.memory_v2, device.handle, &newer);
  if (answer == Return::kSuccess) {
    return NvmlMemory{.total = {static_cast<int64_t>(newer.total)},
                      .used = {static_cast<int64_t>(newer.used)},
                      .reserved = {static_cast<int64_t>(newer.reserved)},
                      .reserve_known = true};
  }
  nvml::Memory older{};
  answer = call("nvmlDeviceGetMemoryInfo", device.index, functions_.memory, device.handle, &older);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  Bytes total{static_cast<int64_t>(older.total)};
  return NvmlMemory{.total = total,
                    .used = {static_cast<int64_t>(older.used)},
                    .reserved = driver_reserve(total),
                    .reserve_known = false};
}

NvmlAnswer<std::string> Nvml::pci_bus_id(NvmlDevice device) {
  nvml::PciInfo pci{};
  Return answer = call("nvmlDeviceGetPciInfo", device.index, functions_.pci_info, device.handle, &pci);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  if (pci.bus_id[0] != '\0') return sysfs_bus_id(bounded_text(pci.bus_id, sizeof pci.bus_id));
  return sysfs_bus_id(bounded_text(pci.bus_id_legacy, sizeof pci.bus_id_legacy));
}

NvmlMig::Instance Nvml::mig_instance(NvmlDevice mig) {
  NvmlMig::Instance instance;
  instance.uuid = uuid(mig).value_or("");
  instance.profile = mig_profile(name(mig).value_or(""));
  nvml::MigAttributes attributes{};
  if (call("nvmlDeviceGetAttributes", mig.index, functions_.mig_attributes, mig.handle, &attributes) ==
      Return::kSuccess) {
    instance.memory = mebibytes(static_cast<int64_t>(attributes.memory_mib));
    if (instance.profile.empty()) {
      instance.profile = fmt::format("{}g.{}gb", attributes.gpu_slices, (attributes.memory_mib + 1023) / 1024);
    }
  } else if (NvmlAnswer<NvmlMemory> found = memory(mig)) {
    instance.memory = found->total;
  }
  return instance;
}

NvmlAnswer<NvmlMig> Nvml::mig(NvmlDevice device) {
  uint32_t current = 0, pending = 0;
  Return answer = call("nvmlDeviceGetMigMode", device.index, functions_.mig_mode, device.handle, &current, &pending);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  NvmlMig mig{.enabled = current == 1};
  if (!mig.enabled) return mig;
  uint32_t count = 0;
  answer = call("nvmlDeviceGetMaxMigDeviceCount", device.index, functions_.mig_count_max, device.handle, &count);
  if (answer != Return::kSuccess) return mig;  // that MIG is on matters more than what is in it
  for (uint32_t i = 0; i < std::min(count, kMigInstancesMax); ++i) {
    NvmlDevice part{.handle = nullptr, .index = device.index};
    answer = call("nvmlDeviceGetMigDeviceHandleByIndex", device.index, functions_.mig_by_index, device.handle, i,
                  &part.handle);
    if (answer == Return::kSuccess) mig.instances.push_back(mig_instance(part));
  }
  return mig;
}

NvmlAnswer<bool> Nvml::nvlink_between(NvmlDevice one, NvmlDevice other) {
  uint32_t status = 0;
  Return answer = call("nvmlDeviceGetP2PStatus", one.index, functions_.p2p_status, one.handle, other.handle,
                       nvml::kP2pCapNvlink, &status);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return status == nvml::kP2pStatusOk;
}

NvmlAnswer<int32_t> Nvml::active_per_cent(NvmlDevice device) {
  nvml::Utilization utilization{};
  Return answer =
      call("nvmlDeviceGetUtilizationRates", device.index, functions_.utilization, device.handle, &utilization);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return static_cast<int32_t>(std::min(utilization.gpu, uint32_t{100}));
}

NvmlAnswer<int32_t> Nvml::celsius(NvmlDevice device) {
  nvml::Temperature newer{};
  newer.sensor = nvml::kTemperatureSensorGpu;
  Return answer = call("nvmlDeviceGetTemperatureV", device.index, functions_.temperature_v, device.handle, &newer);
  if (answer == Return::kSuccess) return newer.celsius;
  uint32_t older = 0;
  answer = call("nvmlDeviceGetTemperature", device.index, functions_.temperature, device.handle,
                nvml::kTemperatureSensorGpu, &older);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return static_cast<int32_t>(std::min(older, uint32_t{1000}));
}

NvmlAnswer<int64_t> Nvml::milliwatts(NvmlDevice device) {
  uint32_t value = 0;
  Return answer = call("nvmlDeviceGetPowerUsage", device.index, functions_.power_usage, device.handle, &value);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return int64_t{value};
}

NvmlAnswer<int64_t> Nvml::ecc_uncorrected(NvmlDevice device) {
  uint64_t count = 0;
  Return answer = call("nvmlDeviceGetTotalEccErrors", device.index, functions_.ecc_errors, device.handle,
                       nvml::kErrorUncorrected, nvml::kCounterVolatile, &count);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX));
}

NvmlAnswer<NvmlRows> Nvml::remapped_rows(NvmlDevice device) {
  uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  Return answer = call("nvmlDeviceGetRemappedRows", device.index, functions_.remapped_rows, device.handle, &corrected,
                       &uncorrected, &pending, &failed);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  return NvmlRows{.pending = pending != 0, .failed = failed != 0};
}

NvmlAnswer<int32_t> Nvml::recovery_action(NvmlDevice device) {
  nvml::FieldValue field{};
  field.field = nvml::kFieldRecoveryAction;
  Return answer = call("nvmlDeviceGetFieldValues", device.index, functions_.field_values, device.handle, 1, &field);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  if (field.answer != Return::kSuccess) return std::unexpected(field.answer);
  return static_cast<int32_t>(std::min(field.value.unsigned_int, uint32_t{INT32_MAX}));
}

NvmlAnswer<std::vector<nvml::ProcessV2>> Nvml::process_list(const char* name, NvmlDevice device,
                                                            nvml::GetProcesses* function, nvml::GetProcesses* old) {
  NvmlAnswer<std::vector<nvml::ProcessV2>> newer =
      read_list<nvml::ProcessV2>([&](nvml::ProcessV2* items, uint32_t* count) {
        return call(name, device.index, function, device.handle, count, static_cast<void*>(items));
      });
  if (newer || newer.error() != Return::kFunctionNotFound) return newer;
  NvmlAnswer<std::vector<nvml::ProcessV1>> older =
      read_list<nvml::ProcessV1>([&](nvml::ProcessV1* items, uint32_t* count) {
        return call(name, device.index, old, device.handle, count, static_cast<void*>(items));
      });
  if (!older) return std::unexpected(older.error());
  std::vector<nvml::ProcessV2> items;
  for (const nvml::ProcessV1& item : *older) {
    items.push_back({.pid = item.pid, .memory = item.memory, .gpu_instance = 0, .compute_instance = 0});
  }
  return items;
}

NvmlAnswer<std::vector<NvmlProcess>> Nvml::processes(NvmlDevice device) {
  struct List {
    const char* name;
    nvml::GetProcesses* newer;
    nvml::GetProcesses* older;
  };
  const List lists[] = {
      {"nvmlDeviceGetComputeRunningProcesses", functions_.compute_processes, functions_.compute_processes_v1},
      {"nvmlDeviceGetGraphicsRunningProcesses", functions_.graphics_processes, functions_.graphics_processes_v1},
      {"nvmlDeviceGetMPSComputeRunningProcesses", functions_.mps_processes, functions_.mps_processes_v1}};
  std::map<int64_t, std::optional<Bytes>> all;
  bool answered = false;
  Return refusal = Return::kFunctionNotFound;
  for (const List& list : lists) {
    NvmlAnswer<std::vector<nvml::ProcessV2>> found = process_list(list.name, device, list.newer, list.older);
    if (!found) {
      if (found.error() != Return::kNotSupported && found.error() != Return::kFunctionNotFound)
        return std::unexpected(found.error());
      refusal = found.error();
      continue;
    }
    answered = true;
    // A process appears once per MIG instance (add up), and in more than one list (the same memory).
    std::map<int64_t, std::optional<Bytes>> here;
    for (const nvml::ProcessV2& item : *found) {
      std::optional<Bytes>& memory = here[item.pid];
      if (item.memory != nvml::kValueNotAvailable)
        memory = memory.value_or(Bytes{}) + Bytes{static_cast<int64_t>(item.memory)};
    }
    for (auto& [pid, memory] : here) all[pid] = std::max(all[pid], memory);
  }
  if (!answered) return std::unexpected(refusal);
  std::vector<NvmlProcess> processes;
  for (auto& [pid, memory] : all) processes.push_back({.pid = pid, .memory = memory});
  return processes;
}

NvmlAnswer<std::vector<NvmlActivity>> Nvml::process_activity(NvmlDevice device, uint64_t last_seen) {
  auto newer = read_list<nvml::ProcessUtilization>([&](nvml::ProcessUtilization* items, uint32_t* count) {
    nvml::ProcessesUtilization request{};
    request.count = *count;
    request.last_seen = last_seen;
    request.processes = items;
    Return answer = call("nvmlDeviceGetProcessesUtilizationInfo", device.index, functions_.processes_utilization,
                         device.handle, &request);
    *count = request.count;
    return answer;
  });
  std::map<int64_t, NvmlActivity> latest;
  auto note = [&](uint32_t pid, uint32_t sm, uint64_t timestamp) {
    NvmlActivity& activity = latest[pid];
    if (timestamp < activity.timestamp) return;
    activity = {.pid = pid, .sm_per_cent = static_cast<int32_t>(std::min(sm, uint32_t{100})), .timestamp = timestamp};
  };
  Return answer = newer ? Return::kSuccess : newer.error();
  if (newer) {
    for (const nvml::ProcessUtilization& item : *newer) note(item.pid, item.sm, item.timestamp);
  } else if (answer != Return::kNotFound) {
    auto older = read_list<nvml::ProcessSample>([&](nvml::ProcessSample* items, uint32_t* count) {
      return call("nvmlDeviceGetProcessUtilization", device.index, functions_.process_samples, device.handle, items,
                  count, last_seen);
    });
    if (older) {
      for (const nvml::ProcessSample& item : *older) note(item.pid, item.sm, item.timestamp);
    }
    answer = older ? Return::kSuccess : older.error();
  }
  // "Not found" is how the library says that no process did any work.
  if (answer != Return::kSuccess && answer != Return::kNotFound) return std::unexpected(answer);
  std::vector<NvmlActivity> activities;
  for (auto& [pid, activity] : latest) activities.push_back(activity);
  return activities;
}

NvmlAnswer<nvml::EventSet> Nvml::listen_for_xids(const std::vector<NvmlDevice>& devices) {
  if (functions_.event_set_wait == nullptr) return std::unexpected(Return::kFunctionNotFound);
  nvml::EventSet set = nullptr;
  Return answer = call("nvmlEventSetCreate", -1, functions_.event_set_create, &set);
  if (answer != Return::kSuccess) return std::unexpected(answer);
  answer = Return::kNotSupported;
  bool any = false;
  for (NvmlDevice device : devices) {
    uint64_t types = nvml::kEventXid;
    Return supported =
        call("nvmlDeviceGetSupportedEventTypes", device.index, functions_.event_types, device.handle, &types);
    if (supported == Return::kSuccess && (types & nvml::kEventXid) == 0) continue;
    answer =
        call("nvmlDeviceRegisterEvents", device.index, functions_.register_events, device.handle, nvml::kEventXid, set);
    any = any || answer == Return::kSuccess;
  }
  if (!any) return std::unexpected(answer);
  return set;
}

NvmlAnswer<Nvml::Xid> Nvml::wait_for_xid(nvml::EventSet set, Duration timeout) {
  nvml::EventData data{};
  Return answer =
      call("nvmlEventSetWait", -1, functions_.event_set_wait, set, &data, static_cast<uint32_t>(timeout.us / 1000));
  if (answer != Return::kSuccess) return std::unexpected(answer);
  if (data.type != nvml::kEventXid) return std::unexpected(Return::kTimeout);
  return Xid{.device = data.device, .number = static_cast<int32_t>(std::min<uint64_t>(data.data, INT32_MAX))};
}

}  // namespace moulin
