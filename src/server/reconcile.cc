#include "server/reconcile.h"

#include <map>

namespace moulin {

namespace {

// What the state believes to exist, with the token that proves it.
std::map<ReplicaKey, std::string> believed(const State& state, ReplicaState at_least) {
  std::map<ReplicaKey, std::string> replicas;
  for (const auto& [id, workload] : state.workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas) {
      if (replica.state == ReplicaState::kExited || replica.state < at_least) continue;
      replicas[{id, attempt->number, replica.index}] = attempt->token;
    }
  }
  return replicas;
}

ReplicaExited vanished(const ReplicaKey& key, const std::string& token) {
  return {
      .key = key,
      .token = token,
      .exit = {.error = "the process and its exit status are gone: the machine restarted, or its supervisor was killed",
               .vanished = true},
      .usage = {}};
}

}  // namespace

Differences compare(const State& state, const Held& held) {
  Differences differences;
  std::map<ReplicaKey, std::string> gone = believed(state, ReplicaState::kRunning);
  std::map<ReplicaKey, std::string> known = believed(state, ReplicaState::kPlaced);
  for (const HeldReplica& replica : held.replicas) {
    auto ours = known.find(replica.key);
    bool is_ours = ours != known.end() && ours->second == replica.token;
    if (is_ours)
      gone.erase(replica.key);
    else if (replica.exited)
      differences.releases.push_back({replica.key, replica.token});
    else
      differences.reports.push_back(StrangerFound{.key = replica.key, .token = replica.token});
  }
  if (!held.complete) return differences;
  for (const ReplicaKey& key : held.unsure) gone.erase(key);
  for (const auto& [key, token] : gone) differences.reports.push_back(vanished(key, token));
  return differences;
}

}  // namespace moulin
