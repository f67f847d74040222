// Nodes and GPUs.
#include <algorithm>

#include "core/may.h"
#include "scheduler/limits.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

// Hardware is no secret: whoever may see anything sees what there is.
Result<const Node*> find(const Call& call, const std::string& name) {
  if (const Node* node = call.state().node(NodeName{name})) return node;
  return Error{.code = Code::kNotFound,
               .message = "no such node",
               .field = "node",
               .given = name,
               .to_do = "run `moulin node list`"};
}

// Who holds parts of the devices of one node, by slot.
std::map<int32_t, std::vector<wire::GpuHolder>> holders_of(const Call& call, const NodeName& name) {
  std::map<int32_t, std::vector<wire::GpuHolder>> by_slot;
  const KeySet<Holder>* holders = call.view->index.holders(name);
  if (holders == nullptr) return by_slot;
  for (const auto& [holder, present] : *holders) {
    const Workload& workload = *call.state().workload(holder.workload);
    const Replica& replica = workload.attempts.back().replicas.at(static_cast<size_t>(holder.replica.value));
    for (const Grant& grant : replica.placement.grants) {
      wire::GpuHolder out{.workload = workload.id,
                          .replica = holder.replica.value,
                          .share_milli = grant.share,
                          .memory_bytes = grant.memory};
      if (may(call.state(), call.actor, Verb::kSee, workload.spec.project)) out.name = workload.spec.name;
      by_slot[grant.slot].push_back(std::move(out));
    }
  }
  return by_slot;
}

wire::Gpu gpu_of(const Gpu& gpu, const DeviceRoom* room, std::vector<wire::GpuHolder> holders,
                 const GpuSample* sample) {
  wire::Gpu out{.uuid = gpu.uuid.text,
                .index = gpu.index,
                .model = gpu.model.text,
                .memory_bytes = gpu.memory,
                .usable_memory_bytes = gpu.usable(),
                .isolation = gpu.isolation,
                .health = gpu.health,
                .health_reason = gpu.health_reason,
                .foreign_processes = gpu.foreign_processes,
                .foreign_memory_bytes = gpu.foreign_memory,
                .holders = std::move(holders)};
  if (room != nullptr) {
    out.free_milli = std::max(room->free, Share{});
    out.free_memory_bytes = std::max(room->free_memory, Bytes{});
  }
  if (sample != nullptr) {
    if (sample->active_milli) out.active_milli = *sample->active_milli;
    if (sample->celsius) out.celsius = *sample->celsius;
    if (sample->milliwatts) out.milliwatts = *sample->milliwatts;
  }
  return out;
}

wire::Node node_of(const Call& call, const Node& node, const GpuSamples& samples) {
  wire::Node out{.name = node.name.text,
                 .pool = node.pool.text,
                 .mode = node.mode,
                 .presence = node.presence,
                 .simulated = node.simulated,
                 .cpu_milli = node.cpu,
                 .memory_bytes = node.memory,
                 .labels = node.labels};
  const NodeRoom* room = call.view->index.room().node(node.name);
  if (room != nullptr) {
    out.cpu_free_milli = std::max(room->free_cpu, CpuMilli{});
    out.memory_free_bytes = std::max(room->free_memory, Bytes{});
  }
  auto holders = holders_of(call, node.name);
  for (const Gpu& gpu : node.gpus) {
    const DeviceRoom* device = room == nullptr ? nullptr : room->device(gpu.index);
    out.gpus.push_back(gpu_of(gpu, device, std::move(holders[gpu.index]), samples.find(gpu.uuid)));
  }
  return out;
}

Result<Response> list(const Call& call) {
  auto wanted = TRY(parameters<wire::ListNodes>(call));
  std::string after = TRY(read_cursor(wanted.cursor));
  auto samples = call.world.gpus.latest();
  wire::NodePage page;
  for (auto at = call.state().nodes.lower_bound(NodeName{after}); at != call.state().nodes.end(); ++at) {
    const Node& node = *at->second;
    if (node.name.text == after || (wanted.pool && node.pool.text != *wanted.pool)) continue;
    if (std::ssize(page.items) == wanted.limit) {
      page.next = make_cursor(page.items.back().name);
      break;
    }
    page.items.push_back(node_of(call, node, *samples));
  }
  return ok(page);
}

// ---- What is free for me now ----

struct ModelKey {
  PoolName pool;
  ModelName model;
  auto operator<=>(const ModelKey&) const = default;
};

void count_device(wire::FreeGpuModel& out, const Gpu& gpu, const DeviceRoom* room, const NodeRoom* node) {
  ++out.devices;
  out.memory_bytes = gpu.usable();
  out.isolation = gpu.isolation;
  if (room == nullptr || node == nullptr || !node->open || !room->offered) return;
  ++out.healthy;
  Share free = std::max(room->free, Share{});
  if (free == kWholeDevice && !room->foreign) ++out.free_devices;
  out.free_milli += free;
  out.largest_share_milli = std::max(out.largest_share_milli, free);
}

// Whole free devices of each model on this node.
void count_blocks(std::map<ModelKey, wire::FreeGpuModel>& models, const Node& node, const NodeRoom* room) {
  if (room == nullptr || !room->open) return;
  std::map<ModelName, Share> whole;
  for (const DeviceRoom& device : room->devices) {
    if (device.offered && !device.foreign && device.free == kWholeDevice) whole[device.model] += kWholeDevice;
  }
  for (const auto& [model, share] : whole) {
    Share& largest = models[{node.pool, model}].largest_block_milli;
    largest = std::max(largest, share);
  }
}

std::vector<wire::FreeGpuModel> free_models(const Call& call) {
  std::map<ModelKey, wire::FreeGpuModel> models;
  for (const auto& [name, node] : call.state().nodes) {
    const NodeRoom* room = call.view->index.room().node(name);
    for (const Gpu& gpu : node->gpus) {
      wire::FreeGpuModel& out = models[{node->pool, gpu.model}];
      count_device(out, gpu, room == nullptr ? nullptr : room->device(gpu.index), room);
    }
    count_blocks(models, *node, room);
  }
  std::vector<wire::FreeGpuModel> out;
  for (auto& [key, model] : models) {
    model.pool = key.pool.text;
    model.model = key.model.text;
    out.push_back(std::move(model));
  }
  return out;
}

// Up to the nearest limit; absent when nothing limits.
std::optional<Share> limit_left(const Call& call, const TreePath& path) {
  std::optional<Share> left;
  for (const TreeNode* node : path) {
    auto quota = node->quotas.find(QuotaKey{});
    if (quota == node->quotas.end() || !quota->second.limit) continue;
    Share here{
        std::max<int64_t>(0, *quota->second.limit - call.view->index.room().amount(node->name, QuotaKey{}).held)};
    left = left ? std::min(*left, here) : here;
  }
  return left;
}

Result<Response> free_gpus(const Call& call) {
  auto wanted = TRY(parameters<wire::ListGpus>(call));
  TreeName project{wanted.project.value_or(kDefaultProject.text)};
  TRY(require(call.state(), call.actor, Verb::kSee, project));
  TreePath path = path_to_root(call.state(), project);
  const GpuInventory& inventory = call.world.facts.inventory;
  wire::FreeGpus out{.project = project.text,
                     .source = static_cast<wire::GpuSource>(inventory.source),
                     .simulated = call.state().simulated,
                     .note = inventory.note,
                     .limit_left_milli = limit_left(call, path),
                     .items = free_models(call)};
  int64_t held = call.view->index.room().amount(project, QuotaKey{}).held;
  int64_t promised = guaranteed(call.state(), call.view->index, path, 0, QuotaKey{});
  out.guarantee_left_milli = {std::max<int64_t>(0, promised - held)};
  return ok(out);
}

static_assert(kWords<wire::GpuSource> == kWords<GpuSource>, "one is cast to the other");

}  // namespace

void list_nodes(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, list(asked)); });
}

void show_node(Call call) {
  Result<const Node*> node = find(call, call.values.at(0));
  call.responder.answer(node ? ok(node_of(call, **node, *call.world.gpus.latest())) : problem_response(node.error()));
}

void change_node_mode(Call call, NodeMode mode) {
  NodeName name{call.values.at(0)};
  give_command(std::move(call), command::ChangeNodeMode{name, mode}, [name](const Call& answered, const Events&) {
    Result<const Node*> node = find(answered, name.text);
    return node ? ok(node_of(answered, **node, *answered.world.gpus.latest())) : problem_response(node.error());
  });
}

void forget_gpu_faults(Call call) {
  auto forget = [&]() -> Result<Response> {
    auto wanted = TRY(parameters<wire::ForgetGpuFaults>(call));
    TRY(require(call.state(), call.actor, Verb::kManageSystem, kRootTree));
    const Node* node = TRY(find(call, wanted.node));
    if (std::ranges::none_of(node->gpus, [&](const Gpu& gpu) { return gpu.uuid.text == wanted.gpu; })) {
      return Error{
          .code = Code::kNotFound, .message = "no such GPU on " + wanted.node, .field = "gpu", .given = wanted.gpu};
    }
    call.world.gpus.forget_faults(GpuUuid{wanted.gpu});
    return nothing(202);
  };
  finish(call, forget());
}

void list_gpus(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, free_gpus(asked)); });
}

}  // namespace moulin::handle
