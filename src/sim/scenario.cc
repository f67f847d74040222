#include "sim/scenario.h"

#include <fmt/format.h>

#include <array>

#include "base/json_reader.h"
#include "base/yaml.h"
#include "sim/scenario_expect.h"
#include "sim/scenario_facts.h"
#include "sim/scenario_steps.h"

namespace moulin {

namespace {

using scenario::Step;
using scenario::World;

constexpr std::string_view kFields[] = {"promise", "nodes", "tree", "users", "engine", "steps"};

// What somebody who acts without `by` is called: an administrator of everything.
const UserName kAdministrator{"admin"};

// The line on which step `index` begins: steps are the items of the list under `steps:`,
// all at the indentation of the first.
size_t line_of_step(std::string_view text, size_t index) {
  size_t line = 0;
  size_t indentation = std::string_view::npos;
  size_t seen = 0;
  bool inside = false;
  while (!text.empty()) {
    ++line;
    size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.starts_with("steps:")) inside = true;
    size_t first = row.find_first_not_of(' ');
    if (!inside || first == std::string_view::npos || row[first] != '-') continue;
    if (indentation == std::string_view::npos) indentation = first;
    if (first == indentation && seen++ == index) return line;
  }
  return 0;
}

Error two_actions(std::string_view path, const std::string& one, const std::string& other) {
  return {.code = Code::kInvalid,
          .message = "a step has one action",
          .field = std::string(path),
          .given = one + " and " + other,
          .to_do = "make two steps of it"};
}

// The action of a step; empty when it only expects.
Result<Step> read_step(const Json& value, const std::string& path) {
  std::vector<std::string_view> words = scenario::action_words();
  for (std::string_view word : {"by", "key", "refused", "expect"}) words.push_back(word);
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = words}));
  Step step;
  for (std::string_view word : scenario::action_words()) {
    const Json* item = value.find(word);
    if (item == nullptr) continue;
    if (!step.action.empty()) return two_actions(path, step.action, std::string(word));
    step = {.action = std::string(word), .value = item, .path = reader.path_of(word)};
  }
  if (const Json* key = reader.find("key")) step.key = TRY(read_text(*key, reader.path_of("key"), {}));
  return step;
}

Status check_violation(const World& world, const std::string& path) {
  const std::string& violation = world.simulation.violation();
  if (violation.empty()) return {};
  return scenario::unmet(path, "what always holds", "no violation", violation);
}

Status run_step(World& world, const Json& value, const std::string& path) {
  Step step = TRY(read_step(value, path));
  world.refusal.reset();
  const Json* by = value.find("by");
  world.actor = by == nullptr ? kAdministrator : UserName(TRY(read_text(*by, member_path(path, "by"), {})));
  if (!step.action.empty()) TRY(scenario::run_action(world, step));
  world.simulation.settle();
  TRY(check_violation(world, path));
  TRY(scenario::check_refusal(world, value.find("refused"), member_path(path, "refused")));
  if (const Json* expect = value.find("expect"))
    return scenario::check_expectations(world, *expect, member_path(path, "expect"));
  return {};
}

Status accepted(const World& world, std::string_view path) {
  if (world.refusal) return at_path(path, *world.refusal);
  return {};
}

Status set_up(World& world, const ObjectReader& reader) {
  world.actor = {};
  world.give(command::CreateUser{.name = kAdministrator, .account = {}});
  world.give(command::GrantRole{Binding{.user = kAdministrator, .at = kRootTree, .role = Role::kAdmin}});
  using Setter = Status (*)(World&, const Json&, std::string_view);
  std::array<std::pair<std::string_view, Setter>, 3> setters{
      {{"nodes", scenario::set_nodes}, {"tree", scenario::set_tree}, {"users", scenario::set_users}}};
  for (const auto& [word, set] : setters) {
    if (const Json* value = reader.find(word)) TRY(set(world, *value, word));
    TRY(accepted(world, word));
  }
  if (const Json* value = reader.find("engine"))
    world.simulation.engine().set_rule(TRY(scenario::read_engine_rule(*value, "engine", {})));
  world.simulation.settle();
  return check_violation(world, "nodes");
}

struct Failure {
  Error error;
  std::optional<size_t> step{};
};

std::string describe(std::string_view name, std::string_view text, const Failure& failure, const World& world) {
  std::string report = fmt::format("{}", name);
  if (failure.step) report += fmt::format(":{}: step {}", line_of_step(text, *failure.step), *failure.step + 1);
  const Error& error = failure.error;
  if (error.code != Code::kConflict) return report + ": " + error.to_text() + "\n";
  report += fmt::format(", {}\n  {}\n  expected: {}\n  got:      {}\n  the last events:\n", error.field, error.message,
                        error.allowed, error.given);
  return report + world.recent_events(20);
}

Result<Json> read_document(std::string_view text) {
  if (text.size() > kScenarioBytesMax)
    return Error{.code = Code::kInvalid, .message = "a scenario has at most 256 KiB"};
  return parse_yaml(text);
}

// Runs everything; the first failure, if any.
std::optional<Failure> play(World& world, const Json& document) {
  Result<ObjectReader> reader = ObjectReader::open(document, "", {.known = kFields});
  if (!reader) return Failure{reader.error()};
  Result<const Json*> promise = reader->require("promise");
  if (!promise) return Failure{promise.error()};
  if (Status done = set_up(world, *reader); !done) return Failure{done.error()};
  Result<const Json*> steps = reader->require("steps");
  if (!steps) return Failure{steps.error()};
  Result<const JsonArray*> items = read_list(**steps, "steps", kScenarioStepsMax);
  if (!items) return Failure{items.error()};
  for (size_t i = 0; i < (*items)->size(); ++i) {
    Status done = run_step(world, (**items)[i], item_path("steps", i));
    if (!done) return Failure{done.error(), i};
  }
  return std::nullopt;
}

}  // namespace

ScenarioResult run_scenario(std::string_view name, std::string_view text) {
  World world;
  Result<Json> document = read_document(text);
  if (!document) return {.passed = false, .report = describe(name, text, {document.error()}, world)};
  std::optional<Failure> failure = play(world, *document);
  if (!failure) return {.passed = true};
  return {.passed = false, .report = describe(name, text, *failure, world)};
}

}  // namespace moulin
