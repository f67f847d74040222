#include "model/workload_fields.h"

#include <algorithm>
#include <array>

#include "model/gpu_request.h"

namespace moulin::workload_fields {

namespace {

Error refused(std::string path, std::string_view given, std::string_view message, std::string_view allowed) {
  return {.code = Code::kInvalid,
          .message = std::string(message),
          .field = std::move(path),
          .given = shortened(given),
          .allowed = std::string(allowed)};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// A path without NUL, "..", or "." and empty pieces; with its leading '/' if it has one.
Result<std::string> read_path(const Json& value, std::string_view path) {
  std::string text = TRY(read_text(value, path, {.bytes_min = 1, .bytes_max = kPathBytesMax}));
  std::string clean;
  for (std::string_view piece : split(text, '/')) {
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") return refused(std::string(path), text, "climbs out of its folder", "a path without \"..\"");
    if (!clean.empty() || text.front() == '/') clean += '/';
    clean += piece;
  }
  if (clean.empty()) clean = text.front() == '/' ? "/" : ".";
  return clean;
}

// A string, or a number as it was written: LR: 1e-4 is the text "1e-4".
Result<std::string> read_loose_text(const Json& value, std::string_view path, TextLimits limits) {
  if (!value.is_number()) return read_text(value, path, limits);
  TRY(check_text(value.number(), path, limits));
  return value.number();
}

Status read_command_text(const Json& run, WorkloadSpec& spec) {
  std::string text = TRY(read_text(run, "run", {.bytes_min = 1, .bytes_max = kCommandBytesMax}));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refused("run", text, "is blank", "a command, such as \"python train.py\"");
  }
  spec.argv = {"/bin/sh", "-c", std::move(text)};
  spec.shell = true;
  return {};
}

Status read_command_list(const Json& run, WorkloadSpec& spec) {
  const JsonArray& arguments = *TRY(read_list(run, "run", kArgumentsMax));
  size_t bytes = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    TextLimits limits{.bytes_min = i == 0 ? size_t{1} : 0, .bytes_max = kCommandBytesMax};
    spec.argv.push_back(TRY(read_text(arguments[i], item_path("run", i), limits)));
    bytes += spec.argv.back().size() + 1;
  }
  if (spec.argv.empty())
    return refused("run", "[]", "is empty", "a program and its arguments, such as [python, train.py]");
  if (bytes <= kCommandBytesMax) return {};
  return refused("run", std::to_string(bytes) + " bytes", "is too long", "at most 65536 bytes in all arguments");
}

Result<ModelName> read_model(const Json& value, std::string_view path) {
  std::string text = TRY(read_text(value, path, {.bytes_min = 1, .bytes_max = 63}));
  auto plain = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_'; };
  if (std::all_of(text.begin(), text.end(), plain)) return ModelName(text);
  return refused(std::string(path), text, "is no name of a GPU model",
                 "letters, digits, '-', '.' and '_', such as H100-80GB");
}

Status read_models(const Json& value, std::string_view path, std::vector<ModelName>& models) {
  if (value.is_string()) {
    models.push_back(TRY(read_model(value, path)));
    return {};
  }
  const JsonArray& items = *TRY(read_list(value, path, kModelsMax));
  for (size_t i = 0; i < items.size(); ++i) {
    ModelName model = TRY(read_model(items[i], item_path(path, i)));
    if (std::find(models.begin(), models.end(), model) != models.end()) {
      return refused(item_path(path, i), model.text, "is named twice", "each model once, in order of preference");
    }
    models.push_back(std::move(model));
  }
  return {};
}

// Set by Moulin for every replica; those of the rendezvous only for a gang.
constexpr std::array<std::string_view, 2> kReserved{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"};
constexpr std::array<std::string_view, 6> kRendezvous{"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
                                                      "RANK",        "LOCAL_RANK",  "NODE_RANK"};

Status check_variable_name(const std::string& name, const ReplicaRange& replicas) {
  std::string path = member_path("env", name);
  bool good = !name.empty() && name.size() <= 128 && !is_digit(name.front());
  for (char c : name) good = good && (is_letter(c) || is_digit(c) || c == '_');
  if (!good)
    return refused(path, name, "is no name of a variable",
                   "1 to 128 letters, digits and '_', not starting with a digit");
  bool is_reserved =
      name.starts_with("MOULIN_") || std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
  bool is_rendezvous = replicas.max > 1 && std::find(kRendezvous.begin(), kRendezvous.end(), name) != kRendezvous.end();
  if (!is_reserved && !is_rendezvous) return {};
  Error error = refused(path, name, "is set by Moulin", "any other name");
  error.to_do = "remove it";
  return error;
}

}  // namespace

Status read_run(const ObjectReader& reader, WorkloadSpec& spec) {
  const Json& run = *TRY(reader.require("run"));
  if (run.is_string()) return read_command_text(run, spec);
  if (run.is_array()) return read_command_list(run, spec);
  return wrong_value(run, "run", "a command for the shell, or a list of a program and its arguments");
}

Status read_resources(const ObjectReader& outer, WorkloadSpec& spec) {
  constexpr std::string_view kFields[] = {"gpu", "gpu_model", "isolation", "cpu", "memory"};
  const Json* value = outer.find("resources");
  if (value == nullptr) return {};
  ObjectReader reader = TRY(ObjectReader::open(*value, "resources", {.known = kFields}));
  Resources& resources = spec.resources;
  if (const Json* gpu = reader.find("gpu")) resources.gpu = TRY(read_gpu_request(*gpu, reader.path_of("gpu")));
  if (const Json* models = reader.find("gpu_model")) {
    TRY(read_models(*models, reader.path_of("gpu_model"), resources.gpu_models));
  }
  if (const Json* isolation = reader.find("isolation")) {
    resources.isolation = TRY(read_word<IsolationWish>(*isolation, reader.path_of("isolation"), "isolation"));
  }
  if (const Json* cpu = reader.find("cpu")) {
    constexpr std::string_view kAllowed = "cores from 0.001 to 1000000, such as 4 or 0.5, or thousandths such as 500m";
    std::string text = TRY(read_amount_text(*cpu, reader.path_of("cpu"), kAllowed));
    Result<CpuMilli> amount = parse_cpu(text);
    if (!amount || amount->milli < 1 || amount->milli > 1'000'000'000) {
      return refused(reader.path_of("cpu"), text, "is no amount of CPU", kAllowed);
    }
    resources.cpu = *amount;
  }
  if (const Json* memory = reader.find("memory"))
    resources.memory = TRY(read_memory(*memory, reader.path_of("memory")));
  return {};
}

Status read_replicas(const ObjectReader& outer, WorkloadSpec& spec) {
  constexpr std::string_view kFields[] = {"min", "max"};
  constexpr IntegerRange kRange{.min = 1, .max = kReplicasMax};
  const Json* value = outer.find("replicas");
  if (value == nullptr) return {};
  if (!value->is_object()) {
    int64_t count = TRY(read_integer(*value, "replicas", kRange));
    spec.replicas = {.min = count, .max = count};
    return {};
  }
  ObjectReader reader = TRY(ObjectReader::open(*value, "replicas", {.known = kFields}));
  const Json* min = TRY(reader.require("min"));
  const Json* max = TRY(reader.require("max"));
  spec.replicas.min = TRY(read_integer(*min, reader.path_of("min"), kRange));
  spec.replicas.max = TRY(read_integer(*max, reader.path_of("max"), {.min = spec.replicas.min, .max = kReplicasMax}));
  return {};
}

Result<Duration> read_duration(const ObjectReader& reader, std::string_view name, DurationRange range,
                               Duration fallback) {
  const Json* value = reader.find(name);
  if (value == nullptr) return fallback;
  std::string allowed = "from " + to_text(range.min) + " to " + to_text(range.max) + ", such as 90s, 30m, 1h30m, 2d";
  std::string text = TRY(read_amount_text(*value, reader.path_of(name), allowed));
  Result<Duration> duration = parse_duration(text);
  if (duration && *duration >= range.min && *duration <= range.max) return *duration;
  Error error = refused(reader.path_of(name), text, duration ? "is out of range" : "is no duration", allowed);
  if (value->is_number()) error.to_do = "write a unit: s, m, h or d";
  return error;
}

Status read_checkpoint(const ObjectReader& outer, WorkloadSpec& spec) {
  constexpr std::string_view kFields[] = {"path", "grace"};
  const Json* value = outer.find("checkpoint");
  if (value == nullptr) return {};
  ObjectReader reader = TRY(ObjectReader::open(*value, "checkpoint", {.known = kFields}));
  spec.checkpoints = true;
  if (const Json* path = reader.find("path")) spec.checkpoint_path = TRY(read_path(*path, reader.path_of("path")));
  spec.grace = TRY(read_duration(reader, "grace", {.max = kGraceMax}, kGraceDefault));
  return {};
}

Status read_retry(const ObjectReader& outer, WorkloadSpec& spec) {
  constexpr std::string_view kFields[] = {"on", "max", "back_off"};
  const Json* value = outer.find("retry");
  spec.retry = default_retry(spec.kind);
  if (value == nullptr) return {};
  ObjectReader reader = TRY(ObjectReader::open(*value, "retry", {.known = kFields}));
  Retry& retry = spec.retry;
  if (const Json* causes = reader.find("on")) {
    retry.on_failed = retry.on_node_lost = false;
    const JsonArray& items = *TRY(read_list(*causes, reader.path_of("on"), 2));
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i] == Json("failed"))
        retry.on_failed = true;
      else if (items[i] == Json("node_lost"))
        retry.on_node_lost = true;
      else
        return wrong_value(items[i], item_path(reader.path_of("on"), i), "failed or node_lost");
    }
  }
  if (const Json* max = reader.find("max")) {
    retry.max = TRY(read_integer(*max, reader.path_of("max"), {.min = 0, .max = kRetriesMax}));
  }
  retry.back_off = TRY(read_duration(reader, "back_off", {.max = kBackOffMax}, retry.back_off));
  return {};
}

Status read_limits(const ObjectReader& outer, WorkloadSpec& spec) {
  constexpr std::string_view kFields[] = {"duration"};
  constexpr std::string_view kNotBuilt[] = {"cost"};
  const Json* value = outer.find("limits");
  if (value == nullptr) return {};
  ObjectReader reader = TRY(ObjectReader::open(*value, "limits", {.known = kFields, .not_built = kNotBuilt}));
  spec.duration_limit = TRY(read_duration(reader, "duration", {.min = seconds(1)}, {}));
  return {};
}

Status read_tags(const ObjectReader& outer, WorkloadSpec& spec) {
  const Json* value = outer.find("tags");
  if (value == nullptr) return {};
  if (!value->is_object()) return wrong_value(*value, "tags", "names with values, such as {cost_center: r42}");
  if (value->members().size() > kTagsMax) {
    return refused("tags", std::to_string(value->members().size()) + " tags", "has too many", "at most 64");
  }
  for (const auto& [name, item] : value->members()) {
    std::string path = member_path("tags", name);
    TRY(at_path(path, check_name("tag", name)));
    std::string text = TRY(read_loose_text(item, path, {.bytes_max = kTagBytesMax}));
    if (std::any_of(text.begin(), text.end(), is_control)) {
      return refused(path, write_json(Json(text)), "holds control characters", "one line of text");
    }
    spec.tags.emplace(name, std::move(text));
  }
  return {};
}

Status read_pools(const ObjectReader& outer, WorkloadSpec& spec) {
  const Json* value = outer.find("pools");
  if (value == nullptr) return {};
  const JsonArray& items = *TRY(read_list(*value, "pools", kPoolsMax));
  for (size_t i = 0; i < items.size(); ++i) {
    std::string path = item_path("pools", i);
    PoolName pool(TRY(read_text(items[i], path, {})));
    TRY(at_path(path, check_name("pool", pool.text)));
    if (std::find(spec.pools.begin(), spec.pools.end(), pool) != spec.pools.end()) {
      return refused(path, pool.text, "is named twice", "each pool once");
    }
    spec.pools.push_back(std::move(pool));
  }
  return {};
}

Status read_environment(const ObjectReader& outer, WorkloadSpec& spec) {
  const Json* value = outer.find("env");
  if (value == nullptr) return {};
  if (!value->is_object()) return wrong_value(*value, "env", "names with values, such as {LR: \"1e-4\"}");
  if (value->members().size() > kVariablesMax) {
    return refused("env", std::to_string(value->members().size()) + " variables", "has too many", "at most 500");
  }
  size_t bytes = 0;
  for (const auto& [name, item] : value->members()) {
    TRY(check_variable_name(name, spec.replicas));
    std::string text = TRY(read_loose_text(item, member_path("env", name), {.bytes_max = kEnvironmentBytesMax}));
    bytes += name.size() + text.size() + 2;
    spec.environment.emplace(name, std::move(text));
  }
  if (bytes <= kEnvironmentBytesMax) return {};
  return refused("env", std::to_string(bytes) + " bytes", "is too large",
                 "at most 65536 bytes in all names and values");
}

Status read_folder(const ObjectReader& reader, const WorkloadDefaults& defaults, WorkloadSpec& spec) {
  spec.folder = defaults.folder;
  const Json* value = reader.find("folder");
  if (value == nullptr) return {};
  std::string folder = TRY(read_path(*value, "folder"));
  if (folder.front() == '/') {
    spec.folder = std::move(folder);
  } else if (defaults.folder.empty()) {
    return refused("folder", folder, "is relative, and there is no folder that it could be relative to",
                   "an absolute path");
  } else if (folder != ".") {
    spec.folder += (spec.folder.ends_with('/') ? "" : "/") + folder;
  }
  if (spec.folder.size() <= kPathBytesMax) return {};
  return refused("folder", spec.folder, "is too long", "a path of at most 4095 bytes");
}

}  // namespace moulin::workload_fields
