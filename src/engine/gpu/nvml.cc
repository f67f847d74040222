#include "engine/gpu/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "engine/gpu/gpu_models.h"
#include "model/node.h"

namespace moulin {

namespace {

constexpr uint32_t kMigInstancesMax = 16;

using nvml::Return;

std::string bounded_text(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

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
