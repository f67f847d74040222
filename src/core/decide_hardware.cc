// Nodes and GPUs, and the lives of the server.
#include <set>

#include "core/decide_parts.h"
#include "core/may.h"

namespace moulin {

namespace {

Result<const Node*> find_node(const Case& c, const NodeName& name) {
  if (const Node* node = c.state().node(name)) return node;
  return Error{.code = Code::kNotFound,
               .message = "no such node",
               .field = "node",
               .given = name.text,
               .to_do = "run `moulin node list`"};
}

// Facts come from an engine; nonsense in them is refused whole.
Status check_facts(const Case& c, const Node& node) {
  auto refuse = [&](std::string message) {
    return Error{.code = Code::kInvalid, .message = std::move(message), .field = "node", .given = node.name.text};
  };
  if (node.name.empty() || node.name.text.size() > 253) return refuse("a node needs a name of at most 253 bytes");
  if (node.gpus.size() > kGpusPerNodeMax)
    return refuse("more than " + std::to_string(kGpusPerNodeMax) + " GPUs on one node");
  if (!c.state().nodes.contains(node.name) && c.state().nodes.size() >= kNodesMax) return refuse("too many nodes");
  if (node.cpu.milli < 0 || node.memory.count < 0) return refuse("negative CPU or memory");
  std::set<GpuUuid> seen;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    const Gpu& gpu = node.gpus[i];
    if (gpu.index != static_cast<int32_t>(i)) return refuse("GPUs must be numbered from 0 without gaps");
    if (!seen.insert(gpu.uuid).second) return refuse("two GPUs with the UUID " + gpu.uuid.text);
    if (gpu.usable() <= Bytes{}) return refuse("a GPU without usable memory: " + gpu.uuid.text);
  }
  return {};
}

// A replica holds devices by index: they must not change under it.
bool devices_changed(const Node& before, const Node& now) {
  if (before.gpus.size() != now.gpus.size()) return true;
  for (size_t i = 0; i < now.gpus.size(); ++i) {
    if (before.gpus[i].uuid != now.gpus[i].uuid || before.gpus[i].memory != now.gpus[i].memory) return true;
  }
  return false;
}

enum class Holds { kAnything, kDevices };

const Workload* holder_on(const State& state, const NodeName& name, Holds wanted) {
  for (const auto& [id, workload] : state.workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas) {
      if (replica.state == ReplicaState::kExited || replica.placement.node != name) continue;
      if (wanted == Holds::kAnything || !replica.placement.grants.empty()) return &*workload;
    }
  }
  return nullptr;
}

}  // namespace

Status judge(Case& c, const command::RegisterNode& command) {
  TRY(check_facts(c, command.node));
  const Node* known = c.state().node(command.node.name);
  if (known != nullptr) {
    Node now = command.node;
    now.mode = known->mode;
    if (now == *known) return {};
    if (devices_changed(*known, now)) {
      if (const Workload* holder = holder_on(c.state(), now.name, Holds::kDevices)) {
        return Error{.code = Code::kConflict,
                     .message = "the GPUs of " + now.name.text + " changed while " + holder->spec.name + " runs there",
                     .to_do = "drain the node, then register it again"};
      }
    }
  }
  c.happens(event::NodeRegistered{command.node});
  return {};
}

Status judge(Case& c, const command::ChangeNodeMode& command) {
  TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  const Node& node = *TRY(find_node(c, command.node));
  if (node.mode != command.mode) c.happens(event::NodeModeChanged{command.node, command.mode, c.actor().user});
  return {};
}

Status judge(Case& c, const command::ReportPresence& command) {
  const Node& node = *TRY(find_node(c, command.node));
  if (node.presence != command.presence) c.happens(event::NodePresenceChanged{command.node, command.presence});
  return {};
}

Status judge(Case& c, const command::ReportGpu& command) {
  const Node& node = *TRY(find_node(c, command.node));
  auto index = static_cast<size_t>(command.gpu.index);
  if (command.gpu.index < 0 || index >= node.gpus.size() || node.gpus[index].uuid != command.gpu.uuid) {
    return Error{.code = Code::kNotFound,
                 .message = "no such GPU on " + command.node.text,
                 .field = "gpu",
                 .given = command.gpu.uuid.text};
  }
  if (node.gpus[index] != command.gpu) c.happens(event::GpuChanged{command.node, command.gpu});
  return {};
}

Status judge(Case& c, const command::RemoveNode& command) {
  TRY(find_node(c, command.node));
  if (const Workload* holder = holder_on(c.state(), command.node, Holds::kAnything)) {
    return Error{.code = Code::kConflict,
                 .message = holder->spec.name + " still runs on " + command.node.text,
                 .to_do = "drain the node first"};
  }
  c.happens(event::NodeRemoved{command.node});
  return {};
}

Status judge(Case& c, const command::BeginEpoch& command) {
  c.happens(event::EpochBegan{.epoch = c.state().epoch.next(),
                              .boot_id = command.boot_id,
                              .wall_offset = command.wall_offset,
                              .version = command.version,
                              .simulated = command.simulated});
  if (!c.state().tree.empty()) return {};
  // A new installation: the organisation, and a project that may use all of it.
  c.happens(event::TreeNodeCreated{
      {.name = kRootTree, .kind = TreeKind::kOrganisation, .parent = {}, .quotas = {}, .created = c.at(), .order = 0}});
  std::map<QuotaKey, Quota> rest{{QuotaKey{}, Quota{.rest = true}}};
  c.happens(event::TreeNodeCreated{{.name = kDefaultProject,
                                    .kind = TreeKind::kProject,
                                    .parent = kRootTree,
                                    .quotas = rest,
                                    .created = c.at(),
                                    .order = 1}});
  return {};
}

Status judge(Case& c, const command::MoveWallClock& command) {
  if (command.wall_offset != c.state().wall_offset) c.happens(event::WallClockMoved{command.wall_offset});
  return {};
}

}  // namespace moulin
