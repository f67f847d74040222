// For tests: whether a workload could start, by trying every placement. Shares no code with
// the scheduler: it reads the State alone. For clusters of a handful of GPUs.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "model/state.h"

namespace moulin::testing {

class Exhaustive {
 public:
  explicit Exhaustive(const State& state) : state_(state) {
    for (const auto& [name, node] : state.nodes) nodes_.push_back(free_node(*node));
    for (const auto& [id, workload] : state.workloads) hold(*workload);
  }

  // Whether all of the minimum can start, with the tree as it is in `state`.
  bool starts(const WorkloadSpec& spec) {
    spec_ = &spec;
    return place(spec.replicas.min);
  }

  // Free CPU in thousandths, and memory in bytes, of each node that takes work.
  std::vector<int64_t> free_cpu() const {
    return collect([](const FreeNode& node) { return node.cpu; });
  }
  std::vector<int64_t> free_memory() const {
    return collect([](const FreeNode& node) { return node.memory; });
  }
  int64_t held(const TreeName& at, const QuotaKey& key) const {
    auto found = held_.find({at, key});
    return found == held_.end() ? 0 : found->second;
  }
  int64_t production(const TreeName& at, const QuotaKey& key) const {
    auto found = production_.find({at, key});
    return found == production_.end() ? 0 : found->second;
  }

 private:
  struct FreeDevice {
    const Gpu* gpu = nullptr;
    int64_t milli = 1000;
    int64_t memory = 0;
  };
  struct Need {  // of one device
    int64_t milli = 0;
    int64_t memory = 0;
  };
  struct FreeNode {
    const Node* node = nullptr;
    int64_t cpu = 0;
    int64_t memory = 0;
    std::vector<FreeDevice> devices{};
  };
  using Amounts = std::map<std::pair<TreeName, QuotaKey>, int64_t>;

  static FreeNode free_node(const Node& node) {
    FreeNode free{&node, node.cpu.milli, node.memory.count};
    for (const Gpu& gpu : node.gpus)
      free.devices.push_back({&gpu, 1000, gpu.usable().count - gpu.foreign_memory.count});
    return free;
  }
  template <class Measure>
  std::vector<int64_t> collect(Measure measure) const {
    std::vector<int64_t> amounts;
    for (const FreeNode& node : nodes_) amounts.push_back(measure(node));
    return amounts;
  }

  void hold(const Workload& workload) {
    if (workload.live() == nullptr) return;
    for (const Replica& replica : workload.live()->replicas) {
      if (replica.state == ReplicaState::kExited) continue;
      const Placement& place = replica.placement;
      for (FreeNode& node : nodes_) {
        if (node.node->name != place.node) continue;
        node.cpu -= place.cpu.milli;
        node.memory -= place.memory.count;
        for (const Grant& grant : place.grants) {
          FreeDevice& device = node.devices[static_cast<size_t>(grant.slot)];
          device.milli -= grant.share.milli;
          device.memory -= grant.memory.count;
          count(workload.spec, {node.node->pool, Resource::kGpu, device.gpu->model}, grant.share.milli);
          count(workload.spec, {node.node->pool, Resource::kGpu, {}}, grant.share.milli);
        }
        count(workload.spec, {node.node->pool, Resource::kCpu, {}}, place.cpu.milli);
        count(workload.spec, {node.node->pool, Resource::kMemory, {}}, place.memory.count);
      }
    }
  }
  void count(const WorkloadSpec& spec, const QuotaKey& key, int64_t amount) {
    for (const TreeNode* node : path_to_root(state_, spec.project)) {
      held_[{node->name, key}] += amount;
      if (spec.priority_class == Class::kProduction) production_[{node->name, key}] += amount;
    }
  }

  int64_t guaranteed(const TreeNode& node, const QuotaKey& key) const {
    if (node.parent.empty()) return capacity(key);
    auto quota = node.quotas.find(key);
    if (quota == node.quotas.end()) return 0;
    if (!quota->second.rest) return quota->second.guaranteed;
    int64_t rest = guaranteed(*state_.tree_node(node.parent), key);
    for (const auto& [name, other] : state_.tree) {
      auto theirs = other->quotas.find(key);
      bool sibling = name != node.name && other->parent == node.parent;
      if (sibling && theirs != other->quotas.end() && !theirs->second.rest) rest -= theirs->second.guaranteed;
    }
    return std::max<int64_t>(rest, 0);
  }
  int64_t capacity(const QuotaKey& key) const {
    int64_t total = 0;
    for (const FreeNode& node : nodes_) {
      if (node.node->pool != key.pool || node.node->presence == Presence::kDown) continue;
      if (node.node->mode == NodeMode::kDraining) continue;
      if (key.resource == Resource::kCpu) total += node.node->cpu.milli;
      if (key.resource == Resource::kMemory) total += node.node->memory.count;
      for (const Gpu& gpu : node.node->gpus) {
        bool counts = key.resource == Resource::kGpu && gpu.health == Health::kHealthy;
        if (counts && (key.model.empty() || key.model == gpu.model)) total += 1000;
      }
    }
    return total;
  }

  // Whether everything that is held keeps every limit and guarantee on the path.
  bool keeps_quota() const {
    for (const TreeNode* node : path_to_root(state_, spec_->project)) {
      for (const auto& [key, quota] : node->quotas) {
        if (quota.limit && added(node->name, key) > 0 && held(node->name, key) > *quota.limit) return false;
      }
      if (spec_->priority_class != Class::kProduction) continue;
      for (const auto& [at, amount] : production_) {
        const QuotaKey& key = at.second;
        auto quota = node->quotas.find(key);
        bool declared = quota != node->quotas.end() && (quota->second.rest || quota->second.guaranteed > 0);
        bool root = node->parent.empty();
        bool binds = (key.resource == Resource::kGpu && key.model.empty()) || (declared && !root);
        bool ours = at.first == node->name && binds && added(node->name, key) > 0;
        if (ours && amount > guaranteed(*node, key)) return false;
      }
    }
    return true;
  }
  int64_t added(const TreeName& at, const QuotaKey& key) const {
    auto found = added_.find({at, key});
    return found == added_.end() ? 0 : found->second;
  }

  bool place(int64_t replicas) {
    if (replicas == 0) return true;
    for (FreeNode& node : nodes_) {
      if (!takes(node)) continue;
      const Resources& r = spec_->resources;
      if (r.cpu.milli > std::max<int64_t>(node.cpu, 0) || r.memory.count > std::max<int64_t>(node.memory, 0)) continue;
      if (on_devices(node, 0, r.gpu.form == GpuForm::kNone ? 0 : r.gpu.count, {}, replicas)) return true;
    }
    return false;
  }
  bool takes(const FreeNode& node) const {
    bool pool = spec_->pools.empty();
    for (const PoolName& name : spec_->pools) pool |= name == node.node->pool;
    return pool && node.node->mode == NodeMode::kOpen && node.node->presence == Presence::kUp;
  }

  // Chooses `missing` more devices from `first` on; then places the other replicas.
  bool on_devices(FreeNode& node, size_t first, int64_t missing, const ModelName& model, int64_t replicas) {
    if (missing == 0) return with_changes(node, replicas);
    for (size_t i = first; i < node.devices.size(); ++i) {
      FreeDevice& device = node.devices[i];
      if (!model.empty() && device.gpu->model != model) continue;
      Need part = need(*device.gpu);
      if (!fits(device, part)) continue;
      device.milli -= part.milli;
      device.memory -= part.memory;
      taken_.push_back({device.gpu->model, part.milli});
      bool placed = on_devices(node, i + 1, missing - 1, device.gpu->model, replicas);
      taken_.pop_back();
      device.milli += part.milli;
      device.memory += part.memory;
      if (placed) return true;
    }
    return false;
  }
  Need need(const Gpu& gpu) const {
    const GpuRequest& request = spec_->resources.gpu;
    if (request.form == GpuForm::kMemory)
      return {share_of_memory(request.memory, gpu.usable()).milli, request.memory.count};
    return {request.share.milli, memory_of_share(request.share, gpu.usable()).count};
  }
  bool fits(const FreeDevice& device, const Need& part) const {
    const Gpu& gpu = *device.gpu;
    const std::vector<ModelName>& models = spec_->resources.gpu_models;
    if (gpu.health != Health::kHealthy || part.milli > device.milli || part.memory > device.memory) return false;
    if (!models.empty() && std::find(models.begin(), models.end(), gpu.model) == models.end()) return false;
    if (part.milli == 1000) return gpu.foreign_processes == 0;
    return spec_->resources.isolation == IsolationWish::kAny || gpu.isolation != Isolation::kAdvisory;
  }

  // Takes the rest of one replica, goes on with the others, and gives it back.
  bool with_changes(FreeNode& node, int64_t replicas) {
    std::vector<std::pair<QuotaKey, int64_t>> changes;
    for (const auto& [model, milli] : taken_) {
      changes.push_back({{node.node->pool, Resource::kGpu, model}, milli});
      changes.push_back({{node.node->pool, Resource::kGpu, {}}, milli});
    }
    changes.push_back({{node.node->pool, Resource::kCpu, {}}, spec_->resources.cpu.milli});
    changes.push_back({{node.node->pool, Resource::kMemory, {}}, spec_->resources.memory.count});
    apply(node, changes, 1);
    auto others = std::exchange(taken_, {});
    bool placed = keeps_quota() && place(replicas - 1);
    taken_ = std::move(others);
    apply(node, changes, -1);
    return placed;
  }
  void apply(FreeNode& node, const std::vector<std::pair<QuotaKey, int64_t>>& changes, int64_t sign) {
    node.cpu -= sign * spec_->resources.cpu.milli;
    node.memory -= sign * spec_->resources.memory.count;
    for (const TreeNode* at : path_to_root(state_, spec_->project)) {
      for (const auto& [key, amount] : changes) {
        held_[{at->name, key}] += sign * amount;
        added_[{at->name, key}] += sign * amount;
        if (spec_->priority_class == Class::kProduction) production_[{at->name, key}] += sign * amount;
      }
    }
  }

  const State& state_;
  const WorkloadSpec* spec_ = nullptr;
  std::vector<FreeNode> nodes_;
  Amounts held_;
  Amounts production_;
  Amounts added_;
  std::vector<std::pair<ModelName, int64_t>> taken_;
};

}  // namespace moulin::testing
