// Small clusters for tests and benchmarks of the scheduler: a State that is changed by
// hand, with an index that follows. The real fold of events is core/apply.h.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "scheduler/scheduler.h"

namespace moulin::testing {

struct NodeOptions {
  std::string name{};
  int32_t gpus = 8;
  std::string model = "H100";
  Bytes gpu_memory = gibibytes(80);
  CpuMilli cpu = {64'000};
  Bytes memory = gibibytes(512);
  std::string pool = "default";
  Isolation isolation = Isolation::kAdvisory;
};

inline Gpu make_gpu(const NodeOptions& options, int32_t index) {
  return {.uuid = GpuUuid(fmt::format("GPU-{}-{}", options.name, index)),
          .index = index,
          .model = ModelName(options.model),
          .memory = options.gpu_memory,
          .isolation = options.isolation};
}

inline Node make_node(const NodeOptions& options) {
  Node node{
      .name = NodeName(options.name), .pool = PoolName(options.pool), .cpu = options.cpu, .memory = options.memory};
  for (int32_t i = 0; i < options.gpus; ++i) node.gpus.push_back(make_gpu(options, i));
  return node;
}

struct JobOptions {
  std::string project = "default";
  Class priority_class = Class::kTraining;
  int64_t devices = 0;  // whole devices; or, with a share, parts of so many
  Share share{};
  Bytes gpu_memory{};  // in place of devices and share
  CpuMilli cpu{};
  Bytes memory{};
  int64_t replicas = 1;
  int64_t replicas_max = 0;  // 0: as many as replicas
  int64_t priority = 0;
  std::vector<std::string> models{};
  std::vector<std::string> pools{};
  Kind kind = Kind::kJob;
  IsolationWish isolation = IsolationWish::kAny;
};

inline GpuRequest gpu_request(const JobOptions& options) {
  if (options.gpu_memory.count > 0) return {.form = GpuForm::kMemory, .count = 1, .memory = options.gpu_memory};
  if (options.share.milli > 0)
    return {.form = GpuForm::kShare, .count = std::max<int64_t>(1, options.devices), .share = options.share};
  if (options.devices > 0) return {.form = GpuForm::kDevices, .count = options.devices, .share = kWholeDevice};
  return {};
}

inline WorkloadSpec job(const JobOptions& options) {
  WorkloadSpec spec;
  spec.kind = options.kind;
  spec.project = TreeName(options.project);
  spec.argv = {"true"};
  spec.resources = {.gpu = gpu_request(options), .isolation = options.isolation};
  spec.resources.cpu = options.cpu;
  spec.resources.memory = options.memory;
  for (const std::string& model : options.models) spec.resources.gpu_models.emplace_back(model);
  for (const std::string& pool : options.pools) spec.pools.emplace_back(pool);
  spec.replicas = {options.replicas, std::max(options.replicas, options.replicas_max)};
  spec.priority_class = options.priority_class;
  spec.priority = options.priority;
  return spec;
}

inline QuotaKey gpu_key(std::string_view pool = "default", std::string_view model = "") {
  return {PoolName(pool), Resource::kGpu, ModelName(model)};
}

class Cluster {
 public:
  // The organisation and the project `default`, which has the guarantee `rest`.
  Cluster() : index_(Index::build(state_)) {
    state_.now = Instant{hours(1000).us};
    tree_node({.name = kRootTree, .kind = TreeKind::kOrganisation, .parent = {}, .quotas = {}});
    project("default", {{gpu_key(), {.rest = true}}});
  }

  const State& state() const { return state_; }
  const Index& index() const { return index_; }
  View view() const { return {state_, index_, state_.now}; }
  void wait(Duration duration) { state_.now = state_.now + duration; }

  void node(const NodeOptions& options) { set_node(make_node(options)); }
  void set_node(Node node) {
    event::NodeRegistered event{node};
    NodeName name = node.name;
    state_.nodes.set(name, Cow<Node>(std::move(node)));
    follow(std::move(event));
  }
  template <class Change>
  void change_node(const std::string& name, Change change) {
    change(state_.nodes.at_mutable(NodeName(name)).mutate());
    follow(event::NodeModeChanged{.node = NodeName(name)});
  }
  void remove_node(const std::string& name) {
    state_.nodes.erase(NodeName(name));
    follow(event::NodeRemoved{NodeName(name)});
  }

  void tree_node(TreeNode node) {
    node.order = state_.tree_order++;
    TreeName name = node.name;
    state_.tree.set(name, Cow<TreeNode>(node));
    follow(event::TreeNodeCreated{std::move(node)});
  }
  void department(const std::string& name, std::map<QuotaKey, Quota> quotas = {},
                  const std::string& parent = kRootTree.text) {
    tree_node({.name = TreeName(name),
               .kind = TreeKind::kDepartment,
               .parent = TreeName(parent),
               .quotas = std::move(quotas)});
  }
  void project(const std::string& name, std::map<QuotaKey, Quota> quotas = {},
               const std::string& parent = kRootTree.text) {
    tree_node(
        {.name = TreeName(name), .kind = TreeKind::kProject, .parent = TreeName(parent), .quotas = std::move(quotas)});
  }
  void quota(const std::string& name, const QuotaKey& key, const Quota& quota) {
    state_.tree.at_mutable(TreeName(name)).mutate().quotas[key] = quota;
    follow(event::QuotaChanged{.at = TreeName(name), .key = key, .quota = quota});
  }

  WorkloadId submit(WorkloadSpec spec) {
    WorkloadId id{++last_id_};
    spec.name = fmt::format("job-{}", last_id_);
    Workload workload{.id = id, .spec = std::move(spec), .submitted = state_.now, .state_since = state_.now};
    state_.workloads.set(id, Cow<Workload>(std::move(workload)));
    follow(event::WorkloadSubmitted{.workload = id});
    return id;
  }
  WorkloadId submit(const JobOptions& options) { return submit(job(options)); }

  template <class Change>
  void change_workload(WorkloadId id, Change change) {
    change(state_.workloads.at_mutable(id).mutate());
    follow(event::EndAsked{.workload = id});
  }

  void start(const StartItem& item) {
    change_workload(item.workload, [&](Workload& workload) {
      if (!item.surplus) {
        workload.attempts.push_back({.number = {++workload.attempt_count}, .created = state_.now});
        move(workload, WorkloadState::kStarting);
        state_.claims.erase(item.workload);
      }
      for (const ReplicaPlacement& replica : item.replicas) {
        workload.attempts.back().replicas.push_back(
            {.index = replica.replica, .placement = replica.placement, .placed = state_.now});
      }
    });
  }
  // All its replicas run.
  void run(WorkloadId id) {
    change_workload(id, [&](Workload& workload) {
      Attempt& attempt = workload.attempts.back();
      attempt.state = AttemptState::kRunning;
      attempt.running_since = state_.now;
      for (Replica& replica : attempt.replicas) replica.state = ReplicaState::kRunning;
      move(workload, WorkloadState::kRunning);
    });
  }
  void evict(const EvictItem& item) {
    change_workload(item.victim, [&](Workload& workload) {
      Attempt& attempt = workload.attempts.back();
      for (ReplicaIndex replica : item.replicas) attempt.replica(replica)->end_asked = true;
      if (!item.replicas.empty()) return;
      attempt.state = AttemptState::kStopping;
      attempt.intent = Intent::kPreempt;
      attempt.cause = item.cause;
      attempt.evicted_for = item.beneficiary;
      move(workload, WorkloadState::kStopping);
    });
  }
  void claim(const Claim& claim) {
    state_.claims.set(claim.owner, Cow<Claim>(claim));
    follow(event::ClaimMade{claim});
  }
  void release_claim(WorkloadId owner) {
    state_.claims.erase(owner);
    follow(event::ClaimReleased{owner});
  }
  void apply(const Plan& plan) {
    for (const StartItem& item : plan.starts) start(item);
    for (const EvictItem& item : plan.evictions) evict(item);
    for (const Claim& item : plan.claims) claim(item);
  }

  void end_replica(WorkloadId id, size_t replica) {
    change_workload(id, [&](Workload& workload) { exit(workload.attempts.back().replicas[replica]); });
  }
  // All that is left of the live attempt ends; the workload is then in `next`.
  void end(WorkloadId id, Outcome outcome, WorkloadState next) {
    change_workload(id, [&](Workload& workload) {
      Attempt& attempt = workload.attempts.back();
      for (Replica& replica : attempt.replicas) exit(replica);
      attempt.state = AttemptState::kEnded;
      attempt.outcome = outcome;
      attempt.ended = state_.now;
      if (outcome == Outcome::kPreempted) {
        ++workload.preemptions;
        workload.evicted_by = attempt.evicted_for;
      }
      move(workload, next);
      if (is_finished(next)) state_.claims.erase(id);
    });
  }
  // Whatever was asked to end, ends.
  void leave() {
    std::vector<WorkloadId> leaving;
    for (const auto& [id, member] : index_.leaving()) leaving.push_back(id);
    for (WorkloadId id : leaving) {
      if (state_.workload(id)->state == WorkloadState::kStopping) {
        end(id, Outcome::kPreempted, WorkloadState::kWaiting);
        continue;
      }
      change_workload(id, [&](Workload& workload) {
        for (Replica& replica : workload.attempts.back().replicas) {
          if (replica.end_asked) exit(replica);
        }
      });
    }
  }

  // One pass, applied; everything it starts runs.
  Plan pass() {
    Plan plan = make_plan(view(), {});
    apply(plan);
    for (const StartItem& item : plan.starts) {
      if (!item.surplus) run(item.workload);
    }
    return plan;
  }
  // Submits and expects it to start at once.
  WorkloadId running(const JobOptions& options) {
    WorkloadId id = submit(options);
    pass();
    return id;
  }
  bool is_running(WorkloadId id) const { return state_.workload(id)->state == WorkloadState::kRunning; }

 private:
  void follow(EventBody body) {
    state_.sequence = state_.sequence.next();
    index_.apply(state_, {.at = state_.now, .actor = {}, .body = std::move(body)});
  }
  void move(Workload& workload, WorkloadState next) {
    workload.state = next;
    workload.state_since = state_.now;
  }
  void exit(Replica& replica) {
    replica.state = ReplicaState::kExited;
    replica.ended = state_.now;
  }

  State state_;
  Index index_;
  uint64_t last_id_ = 0;
};

}  // namespace moulin::testing
