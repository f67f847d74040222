#include "sim/scenario_facts.h"

#include <array>

#include "base/json_reader.h"
#include "engine/gpu/gpu_models.h"
#include "engine/gpu/simulate_spec.h"

namespace moulin::scenario {

namespace {

// ---- Nodes ----

Node node_of(const SimulatedNode& simulated) {
  Node node{.name = simulated.name, .cpu = simulated.cpu, .memory = simulated.memory, .gpus = {}, .labels = {}};
  node.simulated = true;
  for (const SimulatedGpu& gpu : simulated.gpus) {
    node.gpus.push_back({.uuid = gpu.uuid,
                         .index = gpu.index,
                         .model = gpu.model,
                         .memory = gpu.memory,
                         .reserve = driver_reserve(gpu.memory)});
  }
  return node;
}

Result<std::vector<Node>> nodes_of_spec(std::string_view spec, std::string_view path) {
  std::vector<Node> nodes;
  for (const SimulatedNode& simulated : TRY(at_path(path, parse_simulate_spec(spec))))
    nodes.push_back(node_of(simulated));
  return nodes;
}

std::string text_of(const Json* value, std::string_view fallback) {
  if (value == nullptr) return std::string(fallback);
  return value->is_string() ? value->string() : write_json(*value);
}

Status read_labels(const Json& value, std::string_view path, Node& node) {
  if (!value.is_object()) return wrong_value(value, path, "names with values, such as {rack: r1}");
  for (const auto& [name, item] : value.members())
    node.labels[name] = TRY(read_text(item, member_path(path, name), {.bytes_min = 1}));
  return {};
}

Result<Node> read_node(const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"name", "gpus", "cpu", "memory", "pool", "labels", "isolation"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  const Json& name = *TRY(reader.require("name"));
  std::string spec = text_of(reader.find("gpus"), "");
  if (const Json* cpu = reader.find("cpu")) spec += (spec.empty() ? "" : ",") + text_of(cpu, "") + "cpu";
  if (const Json* memory = reader.find("memory")) spec += (spec.empty() ? "" : ",") + text_of(memory, "");
  Node node = TRY(nodes_of_spec("(" + spec + ")", path)).front();
  node.name = NodeName(TRY(read_text(name, reader.path_of("name"), {.bytes_min = 1})));
  for (Gpu& gpu : node.gpus) gpu.uuid = GpuUuid("GPU-" + node.name.text + "-" + std::to_string(gpu.index));
  if (const Json* pool = reader.find("pool")) node.pool = PoolName(TRY(read_text(*pool, reader.path_of("pool"), {})));
  if (const Json* labels = reader.find("labels")) TRY(read_labels(*labels, reader.path_of("labels"), node));
  if (const Json* word = reader.find("isolation")) {
    auto isolation = TRY(read_word<Isolation>(*word, reader.path_of("isolation"), "isolation"));
    for (Gpu& gpu : node.gpus) gpu.isolation = isolation;
  }
  return node;
}

// ---- Quotas ----

Result<int64_t> read_amount(const Json& value, std::string_view path, Resource resource) {
  std::string text = TRY(read_amount_text(value, path, "an amount, such as 2, 0.5 or 16GiB"));
  switch (resource) {
    case Resource::kGpu: return at_path(path, parse_milli(text));
    case Resource::kCpu: return TRY(at_path(path, parse_cpu(text))).milli;
    case Resource::kMemory: return TRY(at_path(path, parse_bytes(text))).count;
  }
  MOULIN_UNREACHABLE();
}

Result<Quota> read_quota(const Json& value, std::string_view path, Resource resource) {
  constexpr std::string_view kFields[] = {"guaranteed", "limit", "weight", "rank"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  Quota quota;
  if (const Json* amount = reader.find("guaranteed")) {
    quota.rest = *amount == Json("rest");
    if (!quota.rest) quota.guaranteed = TRY(read_amount(*amount, reader.path_of("guaranteed"), resource));
  }
  if (const Json* amount = reader.find("limit"))
    quota.limit = TRY(read_amount(*amount, reader.path_of("limit"), resource));
  if (const Json* weight = reader.find("weight"))
    quota.weight = TRY(read_integer(*weight, reader.path_of("weight"), {}));
  if (const Json* rank = reader.find("rank")) quota.rank = TRY(read_integer(*rank, reader.path_of("rank"), {}));
  return quota;
}

Status read_pool_quotas(const ObjectReader& reader, const PoolName& pool, std::map<QuotaKey, Quota>& quotas) {
  for (Resource resource : {Resource::kGpu, Resource::kCpu, Resource::kMemory}) {
    std::string_view word = to_text(resource);
    if (const Json* value = reader.find(word))
      quotas[{pool, resource, {}}] = TRY(read_quota(*value, reader.path_of(word), resource));
  }
  const Json* models = reader.find("models");
  if (models == nullptr) return {};
  if (!models->is_object()) return wrong_value(*models, reader.path_of("models"), "{MODEL: {limit: 2}}");
  for (const auto& [model, value] : models->members()) {
    std::string path = member_path(reader.path_of("models"), model);
    quotas[{pool, Resource::kGpu, ModelName(model)}] = TRY(read_quota(value, path, Resource::kGpu));
  }
  return {};
}

// at_once or never.
Result<bool> read_at_once(const Json& value, std::string_view path) {
  if (value == Json("at_once")) return true;
  if (value == Json("never")) return false;
  return wrong_value(value, path, "at_once or never");
}

}  // namespace

Result<std::vector<Node>> read_nodes(const Json& value, std::string_view path) {
  if (value.is_string()) return nodes_of_spec(value.string(), path);
  const JsonArray& items = *TRY(read_list(value, path, 1'000));
  std::vector<Node> nodes;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_string()) {
      for (Node& node : TRY(nodes_of_spec(items[i].string(), item_path(path, i)))) nodes.push_back(std::move(node));
    } else {
      nodes.push_back(TRY(read_node(items[i], item_path(path, i))));
    }
  }
  return nodes;
}

Result<std::map<QuotaKey, Quota>> read_quotas(const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"gpu", "cpu", "memory", "models", "pools", "holds"};
  constexpr std::string_view kPoolFields[] = {"gpu", "cpu", "memory", "models"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  std::map<QuotaKey, Quota> quotas;
  TRY(read_pool_quotas(reader, kDefaultPool, quotas));
  const Json* pools = reader.find("pools");
  if (pools == nullptr) return quotas;
  if (!pools->is_object()) return wrong_value(*pools, reader.path_of("pools"), "{POOL: {gpu: {limit: 2}}}");
  for (const auto& [pool, item] : pools->members()) {
    std::string inner = member_path(reader.path_of("pools"), pool);
    ObjectReader of_pool = TRY(ObjectReader::open(item, inner, {.known = kPoolFields}));
    TRY(read_pool_quotas(of_pool, PoolName(pool), quotas));
  }
  return quotas;
}

Result<Exit> read_exit(const Json& value, std::string_view path) {
  constexpr IntegerRange kCodes{.min = 0, .max = 255};
  constexpr std::string_view kFields[] = {"code", "signal", "error", "vanished", "limit_hit", "done_file"};
  Exit exit;
  if (value.is_number()) {
    exit.code = static_cast<int32_t>(TRY(read_integer(value, path, kCodes)));
    return exit;
  }
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  if (const Json* code = reader.find("code"))
    exit.code = static_cast<int32_t>(TRY(read_integer(*code, reader.path_of("code"), kCodes)));
  if (const Json* signal = reader.find("signal"))
    exit.signal = static_cast<int32_t>(TRY(read_integer(*signal, reader.path_of("signal"), {.min = 1, .max = 64})));
  if (const Json* error = reader.find("error")) exit.error = TRY(read_text(*error, reader.path_of("error"), {}));
  for (auto [name, flag] :
       {std::pair{"vanished", &Exit::vanished}, {"limit_hit", &Exit::limit_hit}, {"done_file", &Exit::done_file}}) {
    if (const Json* word = reader.find(name)) exit.*flag = TRY(read_boolean(*word, reader.path_of(name)));
  }
  return exit;
}

Result<EngineRule> read_engine_rule(const Json& value, std::string_view path, EngineRule rule) {
  constexpr std::string_view kFields[] = {"of",         "starts",  "starts_after", "ends",
                                          "ends_after", "answers", "checkpoints",  "exit"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  if (const Json* word = reader.find("starts")) {
    rule.starts = TRY(read_at_once(*word, reader.path_of("starts")));
    rule.starts_after = {};
  }
  if (const Json* word = reader.find("ends")) {
    rule.ends = TRY(read_at_once(*word, reader.path_of("ends")));
    rule.ends_after = {};
  }
  if (const Json* after = reader.find("starts_after"))
    rule.starts_after = TRY(read_time(*after, reader.path_of("starts_after")));
  if (const Json* after = reader.find("ends_after"))
    rule.ends_after = TRY(read_time(*after, reader.path_of("ends_after")));
  if (const Json* word = reader.find("answers")) rule.answers = TRY(read_boolean(*word, reader.path_of("answers")));
  if (const Json* word = reader.find("checkpoints"))
    rule.checkpoints = TRY(read_boolean(*word, reader.path_of("checkpoints")));
  if (const Json* exit = reader.find("exit")) rule.exit = TRY(read_exit(*exit, reader.path_of("exit")));
  return rule;
}

Result<Duration> read_time(const Json& value, std::string_view path) {
  return at_path(path, parse_duration(TRY(read_amount_text(value, path, "a duration, such as 10s, 5m or 2h"))));
}

}  // namespace moulin::scenario
