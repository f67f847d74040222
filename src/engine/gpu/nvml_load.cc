#include <dlfcn.h>
#include <fmt/format.h>

#include <initializer_list>

#include "engine/gpu/nvml.h"

namespace moulin {

namespace {

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

}  // namespace moulin
