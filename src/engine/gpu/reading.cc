#include "engine/gpu/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "engine/gpu/gpu_models.h"
#include "shim/files.h"

namespace moulin {

namespace {

using nvml::Return;

// Keeps the value, or says why there is none.
template <class T>
std::optional<T> keep(NvmlAnswer<T> answer, std::string_view fact, GpuDetails& details) {
  if (answer) return *std::move(answer);
  details.missing.push_back(fmt::format("{}: {}", fact, to_text(answer.error())));
  return std::nullopt;
}

std::optional<int32_t> numa_node(const std::string& sys_folder, const std::string& pci_bus_id) {
  if (pci_bus_id.empty() || pci_bus_id.find('/') != std::string::npos) return std::nullopt;
  Result<std::string> text =
      read_file_at(fmt::format("{}/bus/pci/devices/{}/numa_node", sys_folder, pci_bus_id), kibibytes(1));
  if (!text) return std::nullopt;
  int32_t node = -1;
  std::from_chars(text->data(), text->data() + text->size(), node);
  // The kernel writes -1 for "this machine has no NUMA nodes".
  return node < 0 ? std::nullopt : std::optional<int32_t>(node);
}

std::vector<MigInstance> mig_instances(const NvmlMig& mig) {
  std::vector<MigInstance> instances;
  for (const NvmlMig::Instance& instance : mig.instances) {
    instances.push_back({.uuid = GpuUuid(instance.uuid), .profile = instance.profile, .memory = instance.memory});
  }
  return instances;
}

void list_device(Nvml& nvml, const std::string& sys_folder, const KnownDevice& known, DeviceList& list) {
  GpuDetails details{.uuid = known.uuid};
  NvmlMemory memory = keep(nvml.memory(known.device), "memory", details).value_or(NvmlMemory{});
  if (memory.total.count > 0 && !memory.reserve_known) {
    details.missing.push_back("memory kept by the driver: estimated, " + to_text(Return::kFunctionNotFound));
  }
  details.product = keep(nvml.name(known.device), "product name", details).value_or("");
  details.pci_bus_id = keep(nvml.pci_bus_id(known.device), "PCI bus", details).value_or("");
  details.numa_node = numa_node(sys_folder, details.pci_bus_id);
  NvmlAnswer<NvmlMig> mig = nvml.mig(known.device);
  // Devices that cannot be partitioned say "not supported", which is an answer.
  if (!mig && mig.error() != Return::kNotSupported) keep(mig, "MIG mode", details);
  if (mig) {
    details.mig_enabled = mig->enabled;
    details.mig = mig_instances(*mig);
  }
  list.gpus.push_back({.uuid = known.uuid,
                       .index = known.device.index,
                       .model = model_name(details.product, memory.total),
                       .memory = memory.total,
                       .reserve = std::min(memory.reserved, memory.total),
                       .health_reason = {},
                       .group = {}});
  list.details.push_back(std::move(details));
}

// Devices that reach each other over NVLink get the index of the first of them as group.
void group_by_nvlink(Nvml& nvml, DeviceList& list) {
  for (size_t i = 0; i < list.devices.size(); ++i) {
    if (!list.gpus[i].group.empty()) continue;
    for (size_t j = i + 1; j < list.devices.size(); ++j) {
      NvmlAnswer<bool> linked = nvml.nvlink_between(list.devices[i].device, list.devices[j].device);
      if (!linked && linked.error() == Return::kFunctionNotFound) {
        for (GpuDetails& details : list.details) keep(linked, "NVLink", details);
        return;
      }
      if (!linked.value_or(false)) continue;
      list.gpus[i].group = list.gpus[j].group = fmt::format("nvlink-{}", list.devices[i].device.index);
    }
  }
}

Reach reach_of(Return answer) {
  switch (answer) {
    case Return::kGpuIsLost:
    case Return::kNotFound: return Reach::kLost;
    case Return::kResetRequired: return Reach::kNeedsReset;
    case Return::kNoPermission:
    case Return::kOperatingSystem: return Reach::kBlocked;
    case Return::kSuccess:
    case Return::kNotSupported:
    case Return::kFunctionNotFound: return Reach::kAnswers;
    case Return::kUninitialized:
    case Return::kInvalidArgument:
    case Return::kInsufficientSize:
    case Return::kDriverNotLoaded:
    case Return::kTimeout:
    case Return::kVersionMismatch:
    case Return::kArgumentVersionMismatch:
    case Return::kUnknown: return Reach::kFails;
  }
  return Reach::kFails;  // a code that this table does not have
}

template <class T>
std::optional<T> optional(const NvmlAnswer<T>& answer) {
  return answer ? std::optional<T>(*answer) : std::nullopt;
}

// The reach of a device is the gravest that any question shows, save that one answer is
// enough to rule out that everything fails.
class ReachFinder {
 public:
  template <class T>
  const NvmlAnswer<T>& note(const NvmlAnswer<T>& answer) {
    Reach reach = answer ? Reach::kAnswers : reach_of(answer.error());
    answered_ = answered_ || answer.has_value();
    if (reach == Reach::kLost || reach == Reach::kNeedsReset) worst_ = worst_ == Reach::kLost ? worst_ : reach;
    if (reach == Reach::kBlocked || reach == Reach::kFails) other_ = reach;
    return answer;
  }
  Reach reach() const {
    if (worst_ != Reach::kAnswers) return worst_;
    return answered_ ? Reach::kAnswers : other_;
  }

 private:
  bool answered_ = false;
  Reach worst_ = Reach::kAnswers;
  Reach other_ = Reach::kAnswers;
};

std::string name_of_process(int64_t pid) {
  Result<std::string> name = read_file_at(fmt::format("/proc/{}/comm", pid), kibibytes(1));
  if (!name) return "";
  while (!name->empty() && name->back() == '\n') name->pop_back();
  return *name;
}

std::vector<GpuProcess> read_processes(Nvml& nvml, KnownDevice& known, const std::vector<NvmlProcess>& found,
                                       const std::function<bool(int64_t)>& is_ours) {
  NvmlAnswer<std::vector<NvmlActivity>> activities = nvml.process_activity(known.device, known.activity_seen);
  std::map<int64_t, int32_t> active;
  for (const NvmlActivity& activity : activities.value_or(std::vector<NvmlActivity>{})) {
    active[activity.pid] = activity.sm_per_cent * 10;
    known.activity_seen = std::max(known.activity_seen, activity.timestamp);
  }
  std::vector<GpuProcess> processes;
  for (const NvmlProcess& process : found) {
    GpuProcess shown{.pid = process.pid, .memory = process.memory, .ours = is_ours && is_ours(process.pid)};
    // A process that the list of active ones leaves out did nothing.
    if (activities) shown.active_milli = active.contains(process.pid) ? active[process.pid] : 0;
    if (!shown.ours) shown.name = name_of_process(process.pid);
    processes.push_back(std::move(shown));
  }
  return processes;
}

}  // namespace

NvmlAnswer<DeviceList> list_devices(Nvml& nvml, const std::string& sys_folder) {
  NvmlAnswer<int32_t> count = nvml.count();
  if (!count) return std::unexpected(count.error());
  DeviceList list;
  list.driver_version = nvml.driver_version().value_or("");
  list.cuda_version = nvml.cuda_version().value_or("");
  for (int32_t i = 0; i < *count; ++i) {
    NvmlAnswer<NvmlDevice> device = nvml.device(i);
    NvmlAnswer<std::string> uuid = device ? nvml.uuid(*device) : std::unexpected(device.error());
    if (!uuid || uuid->empty()) {
      list.unreachable.push_back(fmt::format("device {}: {}", i, uuid ? "it has no UUID" : to_text(uuid.error())));
      continue;
    }
    KnownDevice known{.device = *device, .uuid = GpuUuid(*uuid)};
    list_device(nvml, sys_folder, known, list);
    list.devices.push_back(std::move(known));
  }
  group_by_nvlink(nvml, list);
  return list;
}

GpuReading read_device(Nvml& nvml, KnownDevice& known, const std::function<bool(int64_t)>& is_ours) {
  GpuReading reading;
  GpuSample& sample = reading.sample;
  ReachFinder finder;
  sample.uuid = known.uuid;
  NvmlAnswer<NvmlMemory> memory = finder.note(nvml.memory(known.device));
  if (memory) sample.memory_used = memory->used;
  NvmlAnswer<int32_t> active = finder.note(nvml.active_per_cent(known.device));
  if (active) sample.active_milli = *active * 10;
  sample.celsius = optional(finder.note(nvml.celsius(known.device)));
  sample.milliwatts = optional(finder.note(nvml.milliwatts(known.device)));
  sample.ecc_uncorrected = optional(finder.note(nvml.ecc_uncorrected(known.device)));
  NvmlRows rows = finder.note(nvml.remapped_rows(known.device)).value_or(NvmlRows{});
  NvmlAnswer<std::vector<NvmlProcess>> processes = finder.note(nvml.processes(known.device));
  sample.processes_known = processes.has_value();
  if (processes) sample.processes = read_processes(nvml, known, *processes, is_ours);
  NvmlAnswer<NvmlMig> mig = nvml.mig(known.device);
  reading.signs = {.reach = finder.reach(),
                   .ecc_uncorrected = sample.ecc_uncorrected.value_or(0),
                   .row_remap_failed = rows.failed,
                   .row_remap_pending = rows.pending,
                   .recovery_action = nvml.recovery_action(known.device).value_or(0),
                   .mig_enabled = mig && mig->enabled,
                   .xids = {}};
  return reading;
}

}  // namespace moulin
