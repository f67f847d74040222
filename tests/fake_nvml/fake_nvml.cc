// A stand-in for libnvidia-ml.so.1 that plays a script (script.h). Handles are small
// numbers dressed as pointers: device i is i + 1, its j-th MIG instance (i + 1) * 1000 + j + 1.

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "engine/gpu/nvml_abi.h"
#include "fake_nvml/script.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace moulin::nvml;
using moulin::fake::number;
using moulin::fake::number_at;
using moulin::fake::Script;
using moulin::fake::words;

constexpr uintptr_t kMigBase = 1000;
constexpr int kPollMs = 2;

std::atomic<size_t> xids_reported = 0;

std::string script_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&script_path), &info);
  return std::string(info.dli_fname) + ".script";
}

int64_t index_of(Device device) {
  auto handle = reinterpret_cast<uintptr_t>(device);
  return static_cast<int64_t>(handle >= kMigBase ? handle / kMigBase : handle) - 1;
}

// The number of a MIG instance on its device; -1 for a whole device.
int64_t mig_of(Device device) {
  auto handle = reinterpret_cast<uintptr_t>(device);
  return handle >= kMigBase ? static_cast<int64_t>(handle % kMigBase) - 1 : -1;
}

// Two rendezvous: the test learns that we are inside, and says when to go on.
void hang(const std::string& prefix) {
  for (const char* step : {".entered", ".release"}) {
    int fifo = open((prefix + step).c_str(), O_RDONLY | O_CLOEXEC);
    if (fifo >= 0) close(fifo);
  }
}

// What the script says about this call as such; `index` -1: about no device.
Return admit(const Script& script, const std::string& function, int64_t index) {
  for (const std::string& line : script.all("hang")) {
    std::vector<std::string> parts = words(line);
    bool device_fits = parts.size() < 3 || number(parts[2], -2) == index;
    if (parts.size() >= 2 && parts[0] == function && device_fits) hang(parts[1]);
  }
  for (const std::string& line : script.all("fail")) {
    std::vector<std::string> parts = words(line);
    bool function_fits = parts[0] == function || (parts[0] == "*" && index >= 0);
    bool device_fits = parts.size() < 3 || number(parts[2], -2) == index;
    if (function_fits && device_fits) return static_cast<Return>(number(parts[1], 999));
  }
  return index >= script.device_count() ? Return::kInvalidArgument : Return::kSuccess;
}

Return copy_text(const std::string& from, char* to, uint32_t size) {
  if (from.size() + 1 > size) return Return::kInsufficientSize;
  std::memcpy(to, from.c_str(), from.size() + 1);
  return Return::kSuccess;
}

Return first_text(const std::vector<std::string>& lines, char* to, uint32_t size) {
  return lines.empty() ? Return::kNotSupported : copy_text(lines.front(), to, size);
}

Return device_number(const char* function, Device device, const char* key, auto* value) {
  Script script = Script::read(script_path());
  Return answer = admit(script, function, index_of(device));
  if (answer != Return::kSuccess) return answer;
  std::optional<int64_t> found = number_at(script.of_device(index_of(device), key), 0);
  if (!found) return Return::kNotSupported;
  *value = static_cast<std::remove_pointer_t<decltype(value)>>(*found);
  return Return::kSuccess;
}

struct Process {
  int64_t pid, bytes, per_cent;
};

std::vector<Process> processes_of(const Script& script, Device device, const std::string& kind) {
  std::vector<Process> processes;
  for (const std::string& line : script.of_device(index_of(device), kind)) {
    std::vector<std::string> parts = words(line);
    processes.push_back({number(parts[0], 0), number(parts[1], 0), parts.size() > 2 ? number(parts[2], 0) : 0});
  }
  return processes;
}

template <class Entry>
Return list_processes(const char* function, Device device, const char* kind, uint32_t* count, void* out) {
  Script script = Script::read(script_path());
  Return answer = admit(script, function, index_of(device));
  if (answer != Return::kSuccess) return answer;
  std::vector<Process> found = processes_of(script, device, kind);
  uint32_t room = *count;
  *count = static_cast<uint32_t>(found.size());
  if (found.size() > room) return Return::kInsufficientSize;
  for (size_t i = 0; i < found.size(); ++i) {
    Entry entry{};
    entry.pid = static_cast<uint32_t>(found[i].pid);
    entry.memory = static_cast<uint64_t>(found[i].bytes);
    static_cast<Entry*>(out)[i] = entry;
  }
  return Return::kSuccess;
}

// Fills `count` entries with those processes that worked.
template <class Entry>
Return list_activity(const char* function, Device device, Entry* out, uint32_t* count) {
  Script script = Script::read(script_path());
  Return answer = admit(script, function, index_of(device));
  if (answer != Return::kSuccess) return answer;
  std::vector<Process> busy = processes_of(script, device, "compute");
  std::erase_if(busy, [](const Process& process) { return process.per_cent == 0; });
  if (busy.empty()) return Return::kNotFound;
  uint32_t room = *count;
  *count = static_cast<uint32_t>(busy.size());
  if (busy.size() > room) return Return::kInsufficientSize;
  for (size_t i = 0; i < busy.size(); ++i) {
    Entry entry{};
    entry.pid = static_cast<uint32_t>(busy[i].pid);
    entry.sm = static_cast<uint32_t>(busy[i].per_cent);
    entry.timestamp = 1'000 + i;
    out[i] = entry;
  }
  return Return::kSuccess;
}

Return memory_of(Device device, const char* function, int64_t& total, int64_t& reserved, int64_t& used) {
  Script script = Script::read(script_path());
  Return answer = admit(script, function, index_of(device));
  if (answer != Return::kSuccess) return answer;
  std::vector<std::string> lines = script.of_device(index_of(device), "memory");
  if (lines.empty()) return Return::kNotSupported;
  total = *number_at(lines, 0);
  reserved = number_at(lines, 1).value_or(0);
  used = number_at(lines, 2).value_or(0);
  return Return::kSuccess;
}

// The first XID that was not reported yet: all devices' lines, in the order of devices.
bool next_xid(const Script& script, EventData* data) {
  size_t seen = 0;
  for (int64_t i = 0; i < script.device_count(); ++i) {
    for (const std::string& line : script.of_device(i, "xid")) {
      if (seen++ < xids_reported) continue;
      ++xids_reported;
      *data = {.device = reinterpret_cast<Device>(static_cast<uintptr_t>(i + 1)),
               .type = kEventXid,
               .data = static_cast<uint64_t>(number(line, 0)),
               .gpu_instance = ~0u,
               .compute_instance = ~0u};
      return true;
    }
  }
  return false;
}

Return wait_for_event(const char* function, EventData* data, uint32_t timeout_ms) {
  for (uint32_t waited = 0;; waited += kPollMs) {
    Script script = Script::read(script_path());
    Return answer = admit(script, function, -1);
    if (answer != Return::kSuccess) return answer;
    if (next_xid(script, data)) return Return::kSuccess;
    if (waited >= timeout_ms) return Return::kTimeout;
    poll(nullptr, 0, kPollMs);
  }
}

}  // namespace

EXPORT Return nvmlInit_v2() {
  Script script = Script::read(script_path());
  Return answer = admit(script, "nvmlInit_v2", -1);
  if (answer != Return::kSuccess) return answer;
  return static_cast<Return>(number_at(script.all("init"), 0).value_or(0));
}

EXPORT Return nvmlDeviceGetCount_v2(uint32_t* count) {
  Script script = Script::read(script_path());
  *count = static_cast<uint32_t>(script.device_count());
  return admit(script, "nvmlDeviceGetCount_v2", -1);
}

EXPORT Return nvmlDeviceGetHandleByIndex_v2(uint32_t index, Device* device) {
  *device = reinterpret_cast<Device>(static_cast<uintptr_t>(index) + 1);
  return admit(Script::read(script_path()), "nvmlDeviceGetHandleByIndex_v2", index);
}

EXPORT Return nvmlSystemGetDriverVersion(char* text, uint32_t size) {
  return first_text(Script::read(script_path()).all("driver"), text, size);
}

EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  std::optional<int64_t> found = number_at(Script::read(script_path()).all("cuda"), 0);
  *version = static_cast<int>(found.value_or(0));
  return found ? Return::kSuccess : Return::kNotSupported;
}

EXPORT Return nvmlDeviceGetUUID(Device device, char* text, uint32_t size) {
  Script script = Script::read(script_path());
  Return answer = admit(script, "nvmlDeviceGetUUID", index_of(device));
  if (answer != Return::kSuccess) return answer;
  if (mig_of(device) < 0) return first_text(script.of_device(index_of(device), "uuid"), text, size);
  return copy_text(words(script.of_device(index_of(device), "mig")[static_cast<size_t>(mig_of(device))])[0], text,
                   size);
}

EXPORT Return nvmlDeviceGetName(Device device, char* text, uint32_t size) {
  Script script = Script::read(script_path());
  Return answer = admit(script, "nvmlDeviceGetName", index_of(device));
  if (answer != Return::kSuccess) return answer;
  std::vector<std::string> names = script.of_device(index_of(device), "name");
  if (mig_of(device) < 0 || names.empty()) return first_text(names, text, size);
  std::string mig = script.of_device(index_of(device), "mig")[static_cast<size_t>(mig_of(device))];
  return copy_text(names.front() + " MIG " + words(mig)[1], text, size);
}

EXPORT Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  int64_t total = 0, reserved = 0, used = 0;
  Return answer = memory_of(device, "nvmlDeviceGetMemoryInfo", total, reserved, used);
  memory->total = static_cast<uint64_t>(total);
  memory->used = static_cast<uint64_t>(used + reserved);
  memory->free = static_cast<uint64_t>(total - used - reserved);
  return answer;
}

EXPORT Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory->version != (sizeof(MemoryV2) | 2u << 24)) return Return::kArgumentVersionMismatch;
  int64_t total = 0, reserved = 0, used = 0;
  Return answer = memory_of(device, "nvmlDeviceGetMemoryInfo_v2", total, reserved, used);
  memory->total = static_cast<uint64_t>(total);
  memory->reserved = static_cast<uint64_t>(reserved);
  memory->used = static_cast<uint64_t>(used);
  memory->free = static_cast<uint64_t>(total - used - reserved);
  return answer;
}

EXPORT Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  Script script = Script::read(script_path());
  Return answer = admit(script, "nvmlDeviceGetPciInfo_v3", index_of(device));
  if (answer != Return::kSuccess) return answer;
  return first_text(script.of_device(index_of(device), "pci"), pci->bus_id, sizeof pci->bus_id);
}

// The older form has a shorter structure, with a domain of four digits.
EXPORT Return nvmlDeviceGetPciInfo_v2(Device device, PciInfo* pci) {
  std::vector<std::string> lines = Script::read(script_path()).of_device(index_of(device), "pci");
  if (lines.empty()) return Return::kNotSupported;
  return copy_text(lines.front().substr(4), pci->bus_id_legacy, sizeof pci->bus_id_legacy);
}

EXPORT Return nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization) {
  utilization->memory = 0;
  return device_number("nvmlDeviceGetUtilizationRates", device, "active", &utilization->gpu);
}

EXPORT Return nvmlDeviceGetTemperature(Device device, uint32_t sensor, uint32_t* celsius) {
  if (sensor != kTemperatureSensorGpu) return Return::kInvalidArgument;
  return device_number("nvmlDeviceGetTemperature", device, "celsius", celsius);
}

EXPORT Return nvmlDeviceGetTemperatureV(Device device, Temperature* temperature) {
  if (temperature->version != (sizeof(Temperature) | 1u << 24)) return Return::kArgumentVersionMismatch;
  return device_number("nvmlDeviceGetTemperatureV", device, "celsius", &temperature->celsius);
}

EXPORT Return nvmlDeviceGetPowerUsage(Device device, uint32_t* milliwatts) {
  return device_number("nvmlDeviceGetPowerUsage", device, "milliwatts", milliwatts);
}

EXPORT Return nvmlDeviceGetTotalEccErrors(Device device, uint32_t error, uint32_t counter, uint64_t* count) {
  if (error != kErrorUncorrected || counter != kCounterVolatile) return Return::kInvalidArgument;
  return device_number("nvmlDeviceGetTotalEccErrors", device, "ecc", count);
}

EXPORT Return nvmlDeviceGetRemappedRows(Device device, uint32_t* corrected, uint32_t* uncorrected, uint32_t* pending,
                                        uint32_t* failed) {
  *corrected = *uncorrected = 0;
  Return answer = device_number("nvmlDeviceGetRemappedRows", device, "remapped", pending);
  Script script = Script::read(script_path());
  *failed = static_cast<uint32_t>(number_at(script.of_device(index_of(device), "remapped"), 1).value_or(0));
  return answer;
}

EXPORT Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  Script script = Script::read(script_path());
  Return answer = admit(script, "nvmlDeviceGetFieldValues", index_of(device));
  for (int i = 0; i < count; ++i) {
    std::optional<int64_t> action = number_at(script.of_device(index_of(device), "recovery"), 0);
    values[i].answer = action && values[i].field == kFieldRecoveryAction ? Return::kSuccess : Return::kNotSupported;
    values[i].value.unsigned_int = static_cast<uint32_t>(action.value_or(0));
  }
  return answer;
}

EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, uint32_t* count, void* out) {
  return list_processes<ProcessV2>("nvmlDeviceGetComputeRunningProcesses_v3", device, "compute", count, out);
}
EXPORT Return nvmlDeviceGetComputeRunningProcesses(Device device, uint32_t* count, void* out) {
  return list_processes<ProcessV1>("nvmlDeviceGetComputeRunningProcesses", device, "compute", count, out);
}
EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, uint32_t* count, void* out) {
  return list_processes<ProcessV2>("nvmlDeviceGetGraphicsRunningProcesses_v3", device, "graphics", count, out);
}
EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, uint32_t* count, void* out) {
  return list_processes<ProcessV2>("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, "mps", count, out);
}

EXPORT Return nvmlDeviceGetProcessUtilization(Device device, ProcessSample* out, uint32_t* count, uint64_t) {
  return list_activity("nvmlDeviceGetProcessUtilization", device, out, count);
}

EXPORT Return nvmlDeviceGetProcessesUtilizationInfo(Device device, ProcessesUtilization* request) {
  if (request->version != (sizeof(ProcessesUtilization) | 1u << 24)) return Return::kArgumentVersionMismatch;
  return list_activity("nvmlDeviceGetProcessesUtilizationInfo", device, request->processes, &request->count);
}

EXPORT Return nvmlDeviceGetMigMode(Device device, uint32_t* current, uint32_t* pending) {
  *pending = 0;
  return device_number("nvmlDeviceGetMigMode", device, "migmode", current);
}

EXPORT Return nvmlDeviceGetMaxMigDeviceCount(Device device, uint32_t* count) {
  *count = 7;
  return admit(Script::read(script_path()), "nvmlDeviceGetMaxMigDeviceCount", index_of(device));
}

EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, uint32_t index, Device* mig) {
  Script script = Script::read(script_path());
  if (index >= script.of_device(index_of(device), "mig").size()) return Return::kNotFound;
  *mig = reinterpret_cast<Device>(reinterpret_cast<uintptr_t>(device) * kMigBase + index + 1);
  return Return::kSuccess;
}

EXPORT Return nvmlDeviceGetAttributes_v2(Device mig, MigAttributes* attributes) {
  Script script = Script::read(script_path());
  std::vector<std::string> lines = script.of_device(index_of(mig), "mig");
  if (mig_of(mig) < 0 || static_cast<size_t>(mig_of(mig)) >= lines.size()) return Return::kNotSupported;
  *attributes = {};
  attributes->gpu_slices = 1;
  attributes->memory_mib = static_cast<uint64_t>(number(words(lines[static_cast<size_t>(mig_of(mig))])[2], 0));
  return admit(script, "nvmlDeviceGetAttributes_v2", index_of(mig));
}

EXPORT Return nvmlDeviceGetP2PStatus(Device one, Device other, uint32_t capability, uint32_t* status) {
  Script script = Script::read(script_path());
  std::string wanted = std::to_string(index_of(other));
  std::vector<std::string> links = script.of_device(index_of(one), "nvlink");
  bool linked = std::find(links.begin(), links.end(), wanted) != links.end();
  *status = capability == kP2pCapNvlink && linked ? kP2pStatusOk : 5;
  return admit(script, "nvmlDeviceGetP2PStatus", index_of(one));
}

EXPORT Return nvmlEventSetCreate(EventSet* set) {
  *set = reinterpret_cast<EventSet>(uintptr_t{1});
  return Return::kSuccess;
}

EXPORT Return nvmlDeviceGetSupportedEventTypes(Device device, uint64_t* types) {
  *types = kEventXid | 0x3;
  return admit(Script::read(script_path()), "nvmlDeviceGetSupportedEventTypes", index_of(device));
}

EXPORT Return nvmlDeviceRegisterEvents(Device device, uint64_t, EventSet) {
  return admit(Script::read(script_path()), "nvmlDeviceRegisterEvents", index_of(device));
}

EXPORT Return nvmlEventSetWait_v2(EventSet, EventData* data, uint32_t timeout_ms) {
  return wait_for_event("nvmlEventSetWait_v2", data, timeout_ms);
}
