#include <algorithm>
#include <map>

#include "engine/gpu/nvml.h"

namespace moulin {

namespace {

using nvml::Return;

constexpr uint32_t kListRoom = 64;
constexpr uint32_t kListRoomMax = 4096;
constexpr int kListTries = 4;  // the list may grow between two calls

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

}  // namespace

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

}  // namespace moulin
