#include "sim/scenario_steps.h"

#include <algorithm>
#include <array>

#include "model/workload_file.h"
#include "sim/scenario_facts.h"
#include "sim/scenario_reports.h"
#include "sim/scenario_values.h"

namespace moulin::scenario {

namespace {

Result<WorkloadId> workload_of(const World& world, const Step& step) {
  std::string name = TRY(read_text(*step.value, step.path, {}));
  return world.find(name, step.path);
}

Result<NodeName> node_of(const World& world, const Json& value, std::string_view path) {
  NodeName name(TRY(read_text(value, path, {})));
  if (world.simulation.state().node(name) != nullptr) return name;
  return Error{.code = Code::kInvalid, .message = "no such node", .field = std::string(path), .given = name.text};
}

// ---- Workloads ----

Result<std::vector<WorkloadElement>> read_elements(const Json& value, std::string_view path) {
  Json document = value;
  if (document.is_object() && document.find("run") == nullptr) document.set("run", Json("true"));
  return at_path(path, read_workloads(document, {.folder = "/tmp"}));
}

Status submit(World& world, const Step& step) {
  command::Submit command{.workloads = {}, .key = step.key, .digest = write_json(*step.value)};
  std::vector<Json> documents = step.value->is_array() ? step.value->items() : std::vector<Json>{*step.value};
  for (size_t i = 0; i < documents.size(); ++i) {
    std::string path = step.value->is_array() ? item_path(step.path, i) : step.path;
    for (WorkloadElement& element : TRY(read_elements(documents[i], path)))
      command.workloads.push_back(
          {world.simulation.new_workload_id(), std::move(element.spec), std::move(element.origin)});
  }
  world.give(std::move(command));
  return {};
}

Status dry_run(World& world, const Step& step) {
  WorkloadSpec spec = TRY(read_elements(*step.value, step.path)).front().spec;
  const Simulation& simulation = world.simulation;
  world.dry_run = explain_new(simulation.core().view(simulation.now()), spec, world.actor);
  return {};
}

template <class Command>
Status about_workload(World& world, const Step& step) {
  world.give(Command{TRY(workload_of(world, step))});
  return {};
}

// ---- Time and the engine ----

Status wait(World& world, const Step& step) {
  world.simulation.advance(TRY(read_time(*step.value, step.path)));
  return {};
}

Status engine(World& world, const Step& step) {
  VirtualEngine& virtual_engine = world.simulation.engine();
  const Json* of = step.value->find("of");
  if (of == nullptr) {
    virtual_engine.set_rule(TRY(read_engine_rule(*step.value, step.path, virtual_engine.rule_of({}))));
    return {};
  }
  std::string name = TRY(read_text(*of, member_path(step.path, "of"), {}));
  WorkloadId id = TRY(world.find(name, step.path));
  virtual_engine.set_rule(id, TRY(read_engine_rule(*step.value, step.path, virtual_engine.rule_of(id))));
  return {};
}

Status restart(World& world, const Step&) {
  world.simulation.restart();
  return {};
}

// ---- Nodes ----

template <NodeMode mode>
Status change_mode(World& world, const Step& step) {
  world.give(command::ChangeNodeMode{TRY(node_of(world, *step.value, step.path)), mode});
  return {};
}

Status node_down(World& world, const Step& step) {
  NodeName name = TRY(node_of(world, *step.value, step.path));
  world.simulation.engine().silence(name);
  world.give_as_system(command::ReportPresence{name, Presence::kDown});
  return {};
}

Status node_up(World& world, const Step& step) {
  NodeName name = TRY(node_of(world, *step.value, step.path));
  world.simulation.engine().unsilence(name);
  world.give_as_system(command::ReportPresence{name, Presence::kUp});
  return {};
}

Status remove_node(World& world, const Step& step) {
  world.give_as_system(command::RemoveNode{NodeName(TRY(read_text(*step.value, step.path, {})))});
  return {};
}

Status nodes(World& world, const Step& step) { return set_nodes(world, *step.value, step.path); }

Status gpu(World& world, const Step& step) {
  constexpr std::string_view kFields[] = {"node", "index", "health", "reason", "foreign_processes", "foreign_memory"};
  ObjectReader reader = TRY(ObjectReader::open(*step.value, step.path, {.known = kFields}));
  const Json& name = *TRY(reader.require("node"));
  const Node& node = *world.simulation.state().node(TRY(node_of(world, name, reader.path_of("node"))));
  const Json& index = *TRY(reader.require("index"));
  IntegerRange slots{.min = 0, .max = std::ssize(node.gpus) - 1};
  Gpu now = node.gpus[static_cast<size_t>(TRY(read_integer(index, reader.path_of("index"), slots)))];
  if (const Json* word = reader.find("health")) {
    now.health = TRY(read_word<Health>(*word, reader.path_of("health"), "health"));
    now.health_reason = now.health == Health::kHealthy ? "" : "it does not answer";
  }
  if (const Json* text = reader.find("reason")) now.health_reason = TRY(read_text(*text, reader.path_of("reason"), {}));
  if (const Json* count = reader.find("foreign_processes"))
    now.foreign_processes = TRY(read_integer(*count, reader.path_of("foreign_processes"), {.min = 0}));
  if (const Json* bytes = reader.find("foreign_memory")) {
    std::string path = reader.path_of("foreign_memory");
    std::string text = TRY(read_amount_text(*bytes, path, "an amount such as 20GiB"));
    now.foreign_memory = TRY(at_path(path, parse_bytes(text)));
  }
  world.give_as_system(command::ReportGpu{.node = node.name, .gpu = now});
  return {};
}

// ---- Tree and users ----

Status tree(World& world, const Step& step) { return set_tree(world, *step.value, step.path); }
Status users(World& world, const Step& step) { return set_users(world, *step.value, step.path); }

Status remove_tree(World& world, const Step& step) {
  world.give(command::RemoveTreeNode{TreeName(TRY(read_text(*step.value, step.path, {})))});
  return {};
}
Status remove_user(World& world, const Step& step) {
  world.give(command::RemoveUser{UserName(TRY(read_text(*step.value, step.path, {})))});
  return {};
}

// {user: anna, role: member, at: nlp}
Result<Binding> read_binding(const Step& step) {
  constexpr std::string_view kFields[] = {"user", "role", "at"};
  ObjectReader reader = TRY(ObjectReader::open(*step.value, step.path, {.known = kFields}));
  const Json& role = *TRY(reader.require("role"));
  return Binding{.user = UserName(TRY(require_text(reader, "user"))),
                 .at = TreeName(TRY(require_text(reader, "at"))),
                 .role = TRY(read_word<Role>(role, reader.path_of("role"), "role"))};
}
template <class Command>
Status about_role(World& world, const Step& step) {
  world.give(Command{TRY(read_binding(step))});
  return {};
}

struct Action {
  std::string_view word;
  Status (*run)(World&, const Step&);
};
constexpr std::array kActions = std::to_array<Action>({
    {"submit", submit},
    {"dry_run", dry_run},
    {"stop", about_workload<command::Stop>},
    {"pause", about_workload<command::Pause>},
    {"resume", about_workload<command::Resume>},
    {"exec", about_workload<command::BeginExec>},
    {"wait", wait},
    {"finish", finish},
    {"fail", fail},
    {"lose", lose},
    {"lose_node", lose_node},
    {"checkpoint", checkpoint},
    {"report", report},
    {"engine", engine},
    {"restart", restart},
    {"cordon", change_mode<NodeMode::kCordoned>},
    {"drain", change_mode<NodeMode::kDraining>},
    {"uncordon", change_mode<NodeMode::kOpen>},
    {"node_down", node_down},
    {"node_up", node_up},
    {"remove_node", remove_node},
    {"nodes", nodes},
    {"gpu", gpu},
    {"tree", tree},
    {"remove_tree", remove_tree},
    {"users", users},
    {"remove_user", remove_user},
    {"grant", about_role<command::GrantRole>},
    {"revoke", about_role<command::RevokeRole>},
});

}  // namespace

const std::vector<std::string_view>& action_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> list;
    for (const Action& action : kActions) list.push_back(action.word);
    return list;
  }();
  return words;
}

Status run_action(World& world, const Step& step) {
  auto action = std::ranges::find(kActions, std::string_view(step.action), &Action::word);
  MOULIN_CHECK(action != kActions.end(), "words were checked");
  return action->run(world, step);
}

}  // namespace moulin::scenario
