// The environment and the limits of one replica. docs/environment.md lists the variables.
#include <algorithm>

#include "server/effects.h"

namespace moulin {

namespace {

using Environment = std::map<std::string, std::string>;

int64_t replica_count(const Attempt& attempt) {
  return std::ranges::count_if(attempt.replicas,
                               [](const Replica& replica) { return replica.state != ReplicaState::kExited; });
}

// Position among the replicas of the same attempt on the same node.
int64_t local_rank(const Attempt& attempt, const Replica& replica) {
  int64_t rank = 0;
  for (const Replica& other : attempt.replicas) {
    if (other.index < replica.index && other.placement.node == replica.placement.node) ++rank;
  }
  return rank;
}

// Position of the node among the nodes of the attempt, by first replica.
int64_t node_rank(const Attempt& attempt, const Replica& replica) {
  std::vector<NodeName> nodes;
  for (const Replica& other : attempt.replicas) {
    if (std::ranges::find(nodes, other.placement.node) == nodes.end()) nodes.push_back(other.placement.node);
  }
  return std::ranges::find(nodes, replica.placement.node) - nodes.begin();
}

void add_identity(Environment& out, const Workload& workload, const Attempt& attempt, const Replica& replica) {
  out["MOULIN_WORKLOAD_ID"] = to_text(workload.id);
  out["MOULIN_WORKLOAD_NAME"] = workload.spec.name;
  out["MOULIN_PROJECT"] = workload.spec.project.text;
  out["MOULIN_CLASS"] = to_text(workload.spec.priority_class);
  out["MOULIN_ATTEMPT"] = std::to_string(attempt.number.value);
  out["MOULIN_REPLICA"] = std::to_string(replica.index.value);
  out["MOULIN_NODE"] = replica.placement.node.text;
  if (workload.origin.kind == OriginKind::kArray) {
    out["MOULIN_ARRAY_NAME"] = workload.origin.name;
    out["MOULIN_ARRAY_INDEX"] = std::to_string(workload.origin.index);
  }
}

void add_grants(Environment& out, const Replica& replica) {
  std::vector<std::string> uuids;
  Bytes memory;
  for (const Grant& grant : replica.placement.grants) {
    uuids.push_back(grant.gpu.text);
    memory += grant.memory;
  }
  out["CUDA_VISIBLE_DEVICES"] = join(uuids, ",");
  out["MOULIN_GPU_SHARE"] = std::to_string(replica.placement.gpu_total().milli);
  out["MOULIN_GPU_MEMORY"] = std::to_string(memory.count);
}

// The names that torchrun and its kin read.
void add_rendezvous(Environment& out, const Attempt& attempt, const Replica& replica) {
  if (attempt.rendezvous_port == 0) return;
  out["MASTER_ADDR"] = "127.0.0.1";
  out["MASTER_PORT"] = std::to_string(attempt.rendezvous_port);
  out["WORLD_SIZE"] = std::to_string(replica_count(attempt));
  out["RANK"] = std::to_string(replica.index.value);
  out["LOCAL_RANK"] = std::to_string(local_rank(attempt, replica));
  out["NODE_RANK"] = std::to_string(node_rank(attempt, replica));
}

std::string working_folder(const WorkloadSpec& spec, const LaunchSettings& settings) {
  if (spec.code == CodeMode::kLive || spec.snapshot.empty()) return spec.folder;
  return settings.data_folder + "/snapshots/" + spec.snapshot;
}

// Outlives attempts: beside the code, or where an absolute path says.
std::string checkpoint_file(const WorkloadSpec& spec) {
  if (!spec.checkpoints || spec.checkpoint_path.empty()) return "";
  return spec.checkpoint_path.front() == '/' ? spec.checkpoint_path : spec.folder + "/" + spec.checkpoint_path;
}

// Submission refuses users without an account; one that lost it since must not become
// root. No account begins with '!', so the start fails and says so.
std::string account_of(const State& state, const Workload& workload, const LaunchSettings& settings) {
  const Cow<User>* owner = state.users.find(workload.owner);
  std::string account = owner == nullptr ? "" : (*owner)->account;
  return settings.isolates_users && account.empty() ? "!" + workload.owner.text : account;
}

}  // namespace

ReplicaLaunch launch_of(const State& state, const Workload& workload, const Replica& replica,
                        const LaunchSettings& settings) {
  const Attempt& attempt = workload.attempts.back();
  const WorkloadSpec& spec = workload.spec;
  Environment environment = spec.environment;
  add_identity(environment, workload, attempt, replica);
  add_grants(environment, replica);
  add_rendezvous(environment, attempt, replica);
  if (settings.simulated) environment["MOULIN_SIMULATED"] = "1";
  return {.key = {workload.id, attempt.number, replica.index},
          .token = attempt.token,
          .epoch = attempt.epoch,
          .node = replica.placement.node,
          .account = account_of(state, workload, settings),
          .argv = spec.argv,
          .working_folder = working_folder(spec, settings),
          .environment = std::move(environment),
          .grants = replica.placement.grants,
          .limits = {.cpu = spec.resources.cpu, .memory = spec.resources.memory, .tasks = 0, .log = settings.log_kept},
          .checkpoint_file = checkpoint_file(spec),
          .grace = spec.grace};
}

}  // namespace moulin
