#include "server/event_text.h"

#include <fmt/format.h>

#include "base/described_json.h"

namespace moulin {

namespace {

std::string replica_name(const ReplicaKey& key) {
  return fmt::format("replica {} of attempt {}", key.replica.value, key.attempt.value);
}

Share total(const std::vector<ReplicaPlacement>& replicas) {
  Share share;
  for (const ReplicaPlacement& replica : replicas) share += replica.placement.gpu_total();
  return share;
}

std::string nodes_of(const std::vector<ReplicaPlacement>& replicas) {
  std::set<std::string> nodes;
  for (const ReplicaPlacement& replica : replicas) nodes.insert(replica.placement.node.text);
  std::vector<std::string> names(nodes.begin(), nodes.end());
  if (names.size() > 3) return fmt::format("{} nodes", names.size());
  return join(names, ", ");
}

std::string exit_text(const Exit& exit) {
  if (!exit.error.empty()) return exit.error;
  if (exit.signal) return fmt::format("ended by signal {}", *exit.signal);
  if (exit.code) return fmt::format("exit code {}", *exit.code);
  return "ended";
}

std::string because(Cause cause, WorkloadId beneficiary) {
  std::string text;
  if (cause != Cause::kNone) text += fmt::format(" ({})", to_text(cause));
  if (beneficiary) text += " for " + to_text(beneficiary);
  return text;
}

std::string by(const UserName& user) { return user.empty() ? "" : " by " + user.text; }

std::string gpu_seconds(GpuTime time) {
  return fmt::format("{}.{} GPU-seconds", time.micro / 1'000'000, time.micro / 100'000 % 10);
}

struct Sentence {
  std::string operator()(const event::EpochBegan& e) const {
    return fmt::format("server {} began epoch {}{}", e.version, e.epoch.value, e.simulated ? ", simulated" : "");
  }
  std::string operator()(const event::WallClockMoved&) const { return "the wall clock was set"; }
  std::string operator()(const event::RequestRemembered& e) const {
    return fmt::format("a request of {} workloads can be repeated safely", e.made.size());
  }
  std::string operator()(const event::RequestsForgotten&) const { return "old requests were forgotten"; }
  std::string operator()(const event::TreeNodeCreated& e) const {
    return fmt::format("{} {} created", to_text(e.node.kind), e.node.name.text);
  }
  std::string operator()(const event::QuotaChanged& e) const {
    std::string what = fmt::format("{} of pool {}", to_text(e.key.resource), e.key.pool.text);
    if (!e.quota) return fmt::format("quota of {} for {} back to the default", e.at.text, what);
    std::string limit = e.quota->limit ? std::to_string(*e.quota->limit) : "none";
    std::string guaranteed = e.quota->rest ? "the rest" : std::to_string(e.quota->guaranteed);
    return fmt::format("quota of {} for {}: guaranteed {}, limit {}", e.at.text, what, guaranteed, limit);
  }
  std::string operator()(const event::TreeNodeRemoved& e) const { return e.name.text + " removed"; }
  std::string operator()(const event::UserCreated& e) const { return "user " + e.user.name.text + " created"; }
  std::string operator()(const event::UserChanged& e) const {
    if (e.account.empty()) return "user " + e.name.text + " has no account any more";
    return "user " + e.name.text + " runs under the account " + e.account + " from now on";
  }
  std::string operator()(const event::UserRemoved& e) const { return "user " + e.name.text + " removed"; }
  std::string operator()(const event::TokenIssued& e) const {
    return fmt::format("token {} issued to {}", to_text(e.token.id), e.token.user.text);
  }
  std::string operator()(const event::TokenRevoked& e) const { return "token " + to_text(e.id) + " revoked"; }
  std::string operator()(const event::RoleGranted& e) const {
    return fmt::format("{} is {} at {}", e.binding.user.text, to_text(e.binding.role), e.binding.at.text);
  }
  std::string operator()(const event::RoleRevoked& e) const {
    return fmt::format("{} is no longer {} at {}", e.binding.user.text, to_text(e.binding.role), e.binding.at.text);
  }
  std::string operator()(const event::NodeRegistered& e) const {
    return fmt::format("node {} registered with {} GPUs", e.node.name.text, e.node.gpus.size());
  }
  std::string operator()(const event::NodeModeChanged& e) const {
    return fmt::format("node {} is {}{}", e.node.text, to_text(e.mode), by(e.by));
  }
  std::string operator()(const event::NodePresenceChanged& e) const {
    return fmt::format("node {} is {}", e.node.text, to_text(e.presence));
  }
  std::string operator()(const event::GpuChanged& e) const {
    std::string text = fmt::format("GPU {} on {} is {}", e.gpu.index, e.node.text, to_text(e.gpu.health));
    if (!e.gpu.health_reason.empty()) text += ": " + e.gpu.health_reason;
    if (e.gpu.foreign_processes > 0) text += fmt::format(", {} foreign processes", e.gpu.foreign_processes);
    return text;
  }
  std::string operator()(const event::NodeRemoved& e) const { return "node " + e.node.text + " removed"; }
  std::string operator()(const event::WorkloadSubmitted& e) const {
    return fmt::format("{} submitted to {}{}", e.spec.name, e.spec.project.text, by(e.owner));
  }
  std::string operator()(const event::AttemptStarted& e) const {
    return fmt::format("attempt {} placed on {} with {} GPU", e.attempt.value, nodes_of(e.replicas),
                       to_text(total(e.replicas)));
  }
  std::string operator()(const event::ReplicasAdded& e) const {
    return fmt::format("grew by {} replicas on {}", e.replicas.size(), nodes_of(e.replicas));
  }
  std::string operator()(const event::ReplicaRan& e) const {
    return fmt::format("{} runs as process {}", replica_name(e.key), e.pid);
  }
  std::string operator()(const event::AttemptRan& e) const { return fmt::format("attempt {} runs", e.attempt.value); }
  std::string operator()(const event::CheckpointWritten& e) const {
    return replica_name(e.key) + " wrote a checkpoint";
  }
  std::string operator()(const event::UsageRecorded& e) const {
    return "usage of " + replica_name(e.key) + " recorded";
  }
  std::string operator()(const event::EndAsked& e) const {
    return fmt::format("asked to {}{}{}", to_text(e.intent), because(e.cause, e.beneficiary), by(e.by));
  }
  std::string operator()(const event::ReplicaEndAsked& e) const {
    return fmt::format("{} asked to end{}", replica_name(e.key), because(e.cause, e.beneficiary));
  }
  std::string operator()(const event::ReplicaEnded& e) const {
    return fmt::format("{}: {}", replica_name(e.key), exit_text(e.exit));
  }
  std::string operator()(const event::AttemptEnded& e) const {
    std::string text = fmt::format("attempt {} {}", e.attempt.value, to_text(e.outcome));
    if (e.lost.micro > 0) text += ", " + gpu_seconds(e.lost) + " lost";
    if (e.next == WorkloadState::kWaiting) text += ", will run again";
    return text;
  }
  std::string operator()(const event::WorkloadStopped& e) const { return "stopped" + by(e.by); }
  std::string operator()(const event::WorkloadPaused& e) const { return "paused" + by(e.by); }
  std::string operator()(const event::PauseAsked& e) const { return "to be paused when it has ended" + by(e.by); }
  std::string operator()(const event::WorkloadResumed& e) const { return "resumed" + by(e.by); }
  std::string operator()(const event::WorkloadForgotten&) const { return "left the memory; its history stays"; }
  std::string operator()(const event::StaleReported& e) const {
    return fmt::format("a late {} of {} was not applied", e.what, replica_name(e.key));
  }
  std::string operator()(const event::StrangerEndAsked& e) const {
    return "an unknown process of " + replica_name(e.key) + " is being ended";
  }
  std::string operator()(const event::ExecBegan& e) const {
    return fmt::format("a command was begun beside {}{}", replica_name(e.key), by(e.by));
  }
  std::string operator()(const event::BackOffEnded&) const { return "may start again after its pause"; }
  std::string operator()(const event::ClaimMade& e) const {
    return fmt::format("what {} victims free is kept for it", e.claim.victims.size());
  }
  std::string operator()(const event::ClaimReleased&) const { return "its claim ended before it could start"; }
  std::string operator()(const event::PassEnded& e) const {
    return fmt::format("scheduling pass: {} starts, {} evictions, {} dropped", e.starts, e.evictions, e.dropped);
  }
};

}  // namespace

std::string event_sentence(const EventBody& body) { return std::visit(Sentence{}, body); }

Json event_data(const EventBody& body) {
  auto hidden = [](std::string_view name) { return name == "hash" || name == "digest"; };
  Json data = std::visit([&](const auto& event) { return described_json(event, hidden); }, body);
  // The token of an attempt proves who a process is; that of an issued token is a struct.
  if (const Json* token = data.find("token"); token != nullptr && token->is_string()) data.set("token", Json{});
  std::erase_if(data.members(), [](const JsonMember& member) { return member.second.is_null(); });
  return data;
}

}  // namespace moulin
