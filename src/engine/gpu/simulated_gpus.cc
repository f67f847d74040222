#include "engine/gpu/simulated_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/gpu/gpu_models.h"
#include "shim/files.h"

namespace moulin {

namespace {

constexpr std::string_view kSuffix = ".json";

Error wrong(std::string field, const Json& value, std::string_view allowed) {
  return {.code = Code::kInvalid,
          .message = "not allowed",
          .field = std::move(field),
          .given = shortened(write_json(value)),
          .allowed = std::string(allowed)};
}

Result<int32_t> parse_active(const Json& value) {
  Result<int64_t> milli = value.is_number() ? parse_milli(value.number()) : Result<int64_t>(wrong("", value, ""));
  if (!milli || *milli > 1000)
    return wrong("active", value, "a number from 0 to 1 with at most three digits after the point");
  return static_cast<int32_t>(*milli);
}

Result<std::vector<int32_t>> parse_xids(const Json& value) {
  std::vector<int32_t> xids;
  if (!value.is_array() || value.items().size() > kXidsKeptMax)
    return wrong("xids", value, "a list of at most 64 numbers");
  for (const Json& item : value.items()) {
    Result<int64_t> number = item.is_number() ? item.integer() : Result<int64_t>(wrong("", item, ""));
    if (!number || *number < 1 || *number > 100'000) return wrong("xids", item, "a number from 1 to 100000");
    xids.push_back(static_cast<int32_t>(*number));
  }
  return xids;
}

Result<GpuProcess> parse_foreign(const Json& value) {
  constexpr std::string_view kAllowed = R"({"pid": 4711, "name": "python", "memory": "20GiB"}, pid at least 1)";
  if (!value.is_object()) return wrong("foreign", value, kAllowed);
  GpuProcess process;
  for (const auto& [key, part] : value.members()) {
    if (key == "pid" && part.is_number()) {
      process.pid = part.integer().value_or(0);
    } else if (key == "name" && part.is_string()) {
      process.name = shortened(part.string(), 64);
    } else if (key == "memory" && part.is_string()) {
      process.memory = TRY(parse_bytes(part.string()));
    } else {
      return wrong("foreign." + key, part, kAllowed);
    }
  }
  if (process.pid < 1) return wrong("foreign.pid", value, kAllowed);
  return process;
}

Status parse_part(const std::string& key, const Json& value, GpuReading& reading, GpuVerdict& declared) {
  if (key == "health" && value.is_string()) {
    declared.health = TRY(parse_word<Health>("health", value.string()));
  } else if (key == "reason" && value.is_string()) {
    declared.reason = shortened(value.string());
  } else if (key == "xids") {
    reading.sample.xids = reading.signs.xids = TRY(parse_xids(value));
  } else if (key == "active") {
    reading.sample.active_milli = TRY(parse_active(value));
  } else if (key == "foreign" && value.is_array() && value.items().size() <= 64) {
    for (const Json& item : value.items()) reading.sample.processes.push_back(TRY(parse_foreign(item)));
  } else {
    return wrong(shortened(key, 60), value, "health, reason, xids, active, foreign, each of its kind");
  }
  return {};
}

// Nodes and their devices are ordered by name, so a device is found without an index.
bool exists(const std::vector<SimulatedNode>& nodes, const GpuUuid& uuid) {
  auto node =
      std::upper_bound(nodes.begin(), nodes.end(), uuid, [](const GpuUuid& wanted, const SimulatedNode& candidate) {
        return candidate.gpus.empty() ? wanted.text < "GPU-" + candidate.name.text
                                      : wanted < candidate.gpus.front().uuid;
      });
  if (node == nodes.begin()) return false;
  --node;
  return std::any_of(node->gpus.begin(), node->gpus.end(), [&](const SimulatedGpu& gpu) { return gpu.uuid == uuid; });
}

GpuReading idle_reading(const GpuUuid& uuid) {
  return {.sample = {.uuid = uuid, .verdict = {}, .active_milli = 0, .processes_known = true}, .signs = {.xids = {}}};
}

std::string declarations_folder(const std::string& data_folder) { return data_folder + "/simulated"; }

Node make_node(const SimulatedNode& simulated) {
  Node node{.name = simulated.name,
            .cpu = simulated.cpu,
            .memory = simulated.memory,
            .gpus = {},
            .labels = {},
            .simulated = true};
  node.gpus.reserve(simulated.gpus.size());
  for (const SimulatedGpu& gpu : simulated.gpus) {
    node.gpus.push_back({.uuid = gpu.uuid,
                         .index = gpu.index,
                         .model = gpu.model,
                         .memory = gpu.memory,
                         .reserve = driver_reserve(gpu.memory),
                         .health_reason = {},
                         .group = simulated.gpus.size() > 1 ? "nvlink-0" : ""});
  }
  return node;
}

}  // namespace

Result<GpuReading> parse_declaration(const GpuUuid& uuid, std::string_view text) {
  Json json = TRY(parse_json(text));
  if (!json.is_object()) return wrong("", json, "an object");
  GpuReading reading = idle_reading(uuid);
  GpuVerdict declared;
  for (const auto& [key, value] : json.members()) TRY(parse_part(key, value, reading, declared));
  if (declared.health != Health::kHealthy && declared.reason.empty()) {
    declared.reason = fmt::format("declared in simulated/{}{}", uuid.text, kSuffix);
  }
  if (json.find("health") != nullptr || json.find("reason") != nullptr) reading.signs.declared = declared;
  return reading;
}

std::map<GpuUuid, GpuReading> read_declarations(const std::string& folder, const std::vector<SimulatedNode>& nodes) {
  std::map<GpuUuid, GpuReading> readings;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (size_t i = 0; !error && entry != std::filesystem::directory_iterator() && i < kDeclarationsMax;
       entry.increment(error), ++i) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    GpuUuid uuid(std::string_view(name).substr(0, name.size() - kSuffix.size()));
    if (!exists(nodes, uuid)) continue;
    Result<std::string> text = read_file_at(entry->path().string(), kDeclarationBytesMax);
    Result<GpuReading> reading = text ? parse_declaration(uuid, *text) : Result<GpuReading>(text.error());
    if (!reading) {
      GpuReading broken = idle_reading(uuid);
      broken.signs.declared = GpuVerdict{.reason = fmt::format("simulated/{}: {}", name, reading.error().to_text())};
      readings.emplace(uuid, std::move(broken));
      continue;
    }
    readings.emplace(uuid, *std::move(reading));
  }
  return readings;
}

struct SimulatedGpus::State {
  SimulatedGpusOptions options;
  GpuWatcher watcher{};
  mutable std::mutex mutex{};
  std::condition_variable changed{};
  bool stopping = false;
  HealthBoard board{};
  std::shared_ptr<const GpuSamples> latest = std::make_shared<GpuSamples>();
  std::thread thread{};

  void run();
  std::vector<GpuReading> look() const;
};

std::vector<GpuReading> SimulatedGpus::State::look() const {
  std::map<GpuUuid, GpuReading> readings;
  if (!options.data_folder.empty())
    readings = read_declarations(declarations_folder(options.data_folder), options.nodes);
  if (options.activity) {
    for (const auto& [uuid, milli] : options.activity()) {
      auto [reading, fresh] = readings.try_emplace(uuid, idle_reading(uuid));
      // What is declared stands, unless it is idle for want of a declaration.
      if (reading->second.sample.active_milli == 0) reading->second.sample.active_milli = std::clamp(milli, 0, 1000);
    }
  }
  std::vector<GpuReading> list;
  for (auto& [uuid, reading] : readings) list.push_back(std::move(reading));
  return list;
}

void SimulatedGpus::State::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    std::vector<GpuReading> readings = look();
    board.set_readings(std::move(readings));
    HealthBoard::Publication publication = board.publish();
    lock.lock();
    latest = publication.samples;
    lock.unlock();
    if (!publication.changes.empty() && watcher.on_change) watcher.on_change(std::move(publication.changes));
    lock.lock();
    changed.wait_for(lock, std::chrono::microseconds(options.period.us), [&] { return stopping; });
  }
}

SimulatedGpus::SimulatedGpus(SimulatedGpusOptions options) : state_(new State{.options = std::move(options)}) {}

SimulatedGpus::~SimulatedGpus() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

Result<GpuInventory> SimulatedGpus::discover() {
  GpuInventory inventory{.source = GpuSource::kSimulated, .nodes = {}};
  inventory.nodes.reserve(state_->options.nodes.size());
  for (const SimulatedNode& node : state_->options.nodes) inventory.nodes.push_back(make_node(node));
  return inventory;
}

void SimulatedGpus::watch(GpuWatcher watcher) {
  MOULIN_CHECK(!state_->thread.joinable(), "watch is called once");
  state_->watcher = std::move(watcher);
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

std::shared_ptr<const GpuSamples> SimulatedGpus::latest() const {
  std::lock_guard lock(state_->mutex);
  return state_->latest;
}

std::function<std::shared_ptr<const GpuSamples>()> SimulatedGpus::looks() const {
  return [state = state_] {
    std::lock_guard lock(state->mutex);
    return state->latest;
  };
}

void SimulatedGpus::forget_faults(const GpuUuid& uuid) {
  if (state_->options.data_folder.empty() || !exists(state_->options.nodes, uuid)) return;
  std::error_code ignored;  // what is not there needs no deleting
  std::filesystem::remove(declarations_folder(state_->options.data_folder) + "/" + uuid.text + std::string(kSuffix),
                          ignored);
}

}  // namespace moulin
