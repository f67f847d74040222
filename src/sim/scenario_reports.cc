#include "sim/scenario_reports.h"

#include <algorithm>

#include "sim/scenario_facts.h"
#include "sim/scenario_values.h"

namespace moulin::scenario {

namespace {

Error not_live(const World& world, WorkloadId id, std::string_view path) {
  const Workload* workload = world.simulation.state().workload(id);
  return {.code = Code::kInvalid,
          .message = "this workload has no live attempt",
          .field = std::string(path),
          .given = workload == nullptr ? "it has left the memory" : "it is " + std::string(to_text(workload->state))};
}

// Which replicas an action is about.
struct Chosen {
  WorkloadId workload{};
  std::vector<ReplicaKey> keys{};
  std::string token{};
  std::optional<Exit> exit{};
};

Result<Chosen> choose(const World& world, WorkloadId id, std::optional<int64_t> replica, std::string_view path) {
  const Workload* workload = world.simulation.state().workload(id);
  const Attempt* attempt = workload == nullptr ? nullptr : workload->live();
  if (attempt == nullptr) return not_live(world, id, path);
  Chosen chosen{.workload = id, .token = attempt->token};
  for (const Replica& item : attempt->replicas) {
    bool wanted = replica ? item.index.value == *replica : item.state != ReplicaState::kExited;
    if (wanted) chosen.keys.push_back({id, attempt->number, item.index});
  }
  if (!chosen.keys.empty()) return chosen;
  return Error{.code = Code::kInvalid, .message = "no such replica", .field = std::string(path)};
}

Result<Chosen> read_chosen(const World& world, const Step& step) {
  constexpr std::string_view kFields[] = {"of", "replica", "exit"};
  if (step.value->is_string()) {
    WorkloadId named = TRY(world.find(step.value->string(), step.path));
    return choose(world, named, {}, step.path);
  }
  ObjectReader reader = TRY(ObjectReader::open(*step.value, step.path, {.known = kFields}));
  std::string name = TRY(require_text(reader, "of"));
  std::optional<int64_t> replica;
  if (const Json* index = reader.find("replica"))
    replica = TRY(read_integer(*index, reader.path_of("replica"), {.min = 0, .max = kReplicasMax}));
  WorkloadId id = TRY(world.find(name, step.path));
  Chosen chosen = TRY(choose(world, id, replica, step.path));
  if (const Json* exit = reader.find("exit")) chosen.exit = TRY(read_exit(*exit, reader.path_of("exit")));
  return chosen;
}

void take(World& world, EngineReport report) { world.give_as_system(command::TakeReport{std::move(report)}); }

Status end_chosen(World& world, const Step& step, Exit exit) {
  Chosen chosen = TRY(read_chosen(world, step));
  if (chosen.exit) exit = *chosen.exit;
  for (const ReplicaKey& key : chosen.keys)
    take(world, ReplicaExited{.key = key, .token = chosen.token, .exit = exit, .usage = {}});
  return {};
}

Exit vanished() {
  Exit exit{.error = "the process and its exit status are gone"};
  exit.vanished = true;
  return exit;
}

// The token of that attempt of the workload, live or not; empty when it is unknown.
std::string token_of(const World& world, const ReplicaKey& key) {
  const Workload* workload = world.simulation.state().workload(key.workload);
  if (workload == nullptr) return {};
  auto attempt = std::ranges::find(workload->attempts, key.attempt, &Attempt::number);
  return attempt == workload->attempts.end() ? std::string{} : attempt->token;
}

Result<EngineReport> make_report(const ObjectReader& reader, const ReplicaKey& key, const std::string& token) {
  std::string kind = TRY(require_text(reader, "kind"));
  Exit exit{.code = 0};
  if (const Json* value = reader.find("exit")) exit = TRY(read_exit(*value, reader.path_of("exit")));
  Usage usage{.cpu = seconds(1), .memory_peak = mebibytes(100), .gpu_active = seconds(1)};
  if (kind == "started") return ReplicaStarted{.key = key, .token = token, .pid = 4711};
  if (kind == "checkpoint") return CheckpointSeen{.key = key, .token = token};
  if (kind == "usage") return UsageMeasured{.key = key, .token = token, .usage = usage};
  if (kind == "exited") return ReplicaExited{.key = key, .token = token, .exit = exit, .usage = usage};
  if (kind == "stranger") return StrangerFound{.key = key, .token = token, .pid = 4711};
  return wrong_value(Json(kind), reader.path_of("kind"), "started, checkpoint, usage, exited or stranger");
}

}  // namespace

Status finish(World& world, const Step& step) { return end_chosen(world, step, Exit{.code = 0}); }
Status fail(World& world, const Step& step) { return end_chosen(world, step, Exit{.code = 1}); }
Status lose(World& world, const Step& step) { return end_chosen(world, step, vanished()); }

Status checkpoint(World& world, const Step& step) {
  Chosen chosen = TRY(read_chosen(world, step));
  take(world, CheckpointSeen{.key = chosen.keys.front(), .token = chosen.token});
  return {};
}

Status lose_node(World& world, const Step& step) {
  NodeName node(TRY(read_text(*step.value, step.path, {})));
  std::vector<EngineReport> reports;
  for (const auto& [id, workload] : world.simulation.state().workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas) {
      if (replica.state == ReplicaState::kExited || replica.placement.node != node) continue;
      ReplicaKey key{id, attempt->number, replica.index};
      reports.push_back(ReplicaExited{.key = key, .token = attempt->token, .exit = vanished(), .usage = {}});
    }
  }
  for (EngineReport& item : reports) take(world, std::move(item));
  return {};
}

Status report(World& world, const Step& step) {
  constexpr std::string_view kFields[] = {"kind", "of", "attempt", "replica", "token", "exit", "times", "after"};
  ObjectReader reader = TRY(ObjectReader::open(*step.value, step.path, {.known = kFields}));
  std::string name = TRY(require_text(reader, "of"));
  ReplicaKey key{.workload = TRY(world.find(name, reader.path_of("of")))};
  const Workload* workload = world.simulation.state().workload(key.workload);
  key.attempt.value = workload == nullptr ? 1 : workload->attempt_count;
  constexpr IntegerRange kSmall{.min = 0, .max = 10'000};
  if (const Json* number = reader.find("attempt"))
    key.attempt.value = static_cast<int32_t>(TRY(read_integer(*number, reader.path_of("attempt"), kSmall)));
  if (const Json* number = reader.find("replica"))
    key.replica.value = static_cast<int32_t>(TRY(read_integer(*number, reader.path_of("replica"), kSmall)));
  std::string token = token_of(world, key);
  if (const Json* text = reader.find("token")) token = TRY(read_text(*text, reader.path_of("token"), {}));
  int64_t times = 1;
  if (const Json* number = reader.find("times")) times = TRY(read_integer(*number, reader.path_of("times"), kSmall));
  Duration after{};
  if (const Json* time = reader.find("after")) after = TRY(read_time(*time, reader.path_of("after")));
  EngineReport made = TRY(make_report(reader, key, token));
  for (int64_t i = 0; i < times; ++i) world.simulation.engine().report(world.simulation.now() + after, made);
  return {};
}

}  // namespace moulin::scenario
