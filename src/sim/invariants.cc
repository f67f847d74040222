#include "sim/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/codec.h"
#include "sim/usage_counter.h"

namespace moulin {

namespace {

std::string name_of(const Workload& workload) { return workload.spec.name + " (" + to_text(workload.id) + ")"; }

// ---- Every state ----

Violation check_devices(const State& state) {
  for (const auto& [key, held] : held_devices(state)) {
    const Node* node = state.node(key.node);
    if (node == nullptr) return fmt::format("{} is held and not registered", key.node.text);
    auto slot = static_cast<size_t>(key.slot);
    if (slot >= node->gpus.size()) return fmt::format("{} has no device {}", key.node.text, key.slot);
    if (held.share > kWholeDevice)
      return fmt::format("device {} of {} is given {} thousandths", key.slot, key.node.text, held.share.milli);
    if (held.memory > node->gpus[slot].usable())
      return fmt::format("device {} of {} is given {} of {}", key.slot, key.node.text, to_text(held.memory),
                         to_text(node->gpus[slot].usable()));
  }
  return {};
}

Violation check_grants(const State& state) {
  Violation wrong;
  each_holder(state, [&](const Workload& workload, const Attempt&, const Replica& replica) {
    const Node* node = state.node(replica.placement.node);
    std::set<int32_t> slots;
    for (const Grant& grant : replica.placement.grants) {
      auto slot = static_cast<size_t>(grant.slot);
      bool known = node != nullptr && slot < node->gpus.size() && node->gpus[slot].uuid == grant.gpu;
      if (!known) wrong = fmt::format("{} holds device {}, which is not there", name_of(workload), grant.gpu.text);
      if (!slots.insert(grant.slot).second) wrong = fmt::format("{} holds a device twice", name_of(workload));
      if (grant.share < kShareMin || grant.share > kWholeDevice)
        wrong = fmt::format("{} holds {} thousandths of a device", name_of(workload), grant.share.milli);
    }
  });
  return wrong;
}

Violation check_nodes(const State& state) {
  for (const auto& [name, held] : held_nodes(state)) {
    const Node* node = state.node(name);
    if (node == nullptr) return fmt::format("{} is held and not registered", name.text);
    if (held.cpu > node->cpu)
      return fmt::format("{} of {} cores of {} are given", to_text(held.cpu), to_text(node->cpu), name.text);
    if (held.memory > node->memory)
      return fmt::format("{} of {} of {} are given", to_text(held.memory), to_text(node->memory), name.text);
  }
  return {};
}

bool ended_badly(const Replica& replica) {
  return replica.state == ReplicaState::kExited && !replica.end_asked && !replica.exit.clean();
}

// A member that has gone badly takes a gang with it; one that has ended well does not.
Violation check_gangs(const State& state) {
  for (const auto& [id, workload] : state.workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr || workload->spec.kind == Kind::kService) continue;
    auto asked = std::ranges::count_if(attempt->replicas, &Replica::end_asked);
    auto count = std::ssize(attempt->replicas) - asked;
    if (count < workload->spec.replicas.min)
      return fmt::format("{} has {} of its minimum of {} replicas", name_of(*workload), count,
                         workload->spec.replicas.min);
    auto bad = std::ranges::count_if(attempt->replicas, ended_badly);
    if (count - bad < workload->spec.replicas.min && attempt->intent == Intent::kNone)
      return fmt::format("{} lost a member and is not being ended", name_of(*workload));
  }
  return {};
}

Violation check_names(const State& state) {
  size_t unfinished = 0;
  for (const auto& [id, workload] : state.workloads) {
    if (is_finished(workload->state)) continue;
    ++unfinished;
    const WorkloadId* found = state.names.find({workload->spec.project, workload->spec.name});
    if (found == nullptr || *found != id) return fmt::format("{} is not under its name", name_of(*workload));
  }
  if (unfinished != state.names.size())
    return fmt::format("{} names for {} unfinished workloads", state.names.size(), unfinished);
  return {};
}

// Everything stands under its own name.
Violation check_keys(const State& state) {
  for (const auto& [name, node] : state.nodes) {
    if (node->name != name) return fmt::format("node {} stands under the name \"{}\"", node->name.text, name.text);
  }
  for (const auto& [name, node] : state.tree) {
    if (node->name != name) return fmt::format("{} stands under the name \"{}\"", node->name.text, name.text);
    if (name != kRootTree && state.tree_node(node->parent) == nullptr)
      return fmt::format("{} lies in {}, which is not there", name.text, node->parent.text);
  }
  for (const auto& [name, user] : state.users) {
    if (user->name != name) return fmt::format("user {} stands under the name \"{}\"", user->name.text, name.text);
  }
  for (const auto& [id, token] : state.tokens) {
    if (token->id != id || !state.users.contains(token->user)) return "a token that belongs to nobody";
  }
  for (const auto& [binding, held] : state.bindings) {
    bool known = state.users.contains(binding.user) && state.tree.contains(binding.at);
    if (!held || !known)
      return fmt::format("a role of {} at {}, one of which is not there", binding.user.text, binding.at.text);
  }
  for (const auto& [id, workload] : state.workloads) {
    if (workload->id != id) return fmt::format("{} stands under {}", name_of(*workload), to_text(id));
  }
  return {};
}

Violation check_claims(const State& state) {
  for (const auto& [owner, claim] : state.claims) {
    const Workload* workload = state.workload(owner);
    if (workload == nullptr) return fmt::format("a claim of {}, which is not there", to_text(owner));
    bool moves = workload->state == WorkloadState::kStopping && workload->live()->evicted_for == owner;
    if (workload->state != WorkloadState::kWaiting && !moves)
      return fmt::format("{} holds a claim and is {}", name_of(*workload), to_text(workload->state));
    if (claim->owner != owner) return fmt::format("the claim of {} names another owner", name_of(*workload));
  }
  return {};
}

Violation check_attempts(const State& state) {
  for (const auto& [id, workload] : state.workloads) {
    for (const Attempt& attempt : workload->attempts) {
      bool last = &attempt == &workload->attempts.back();
      bool should_live = last && is_live(workload->state);
      if ((attempt.state != AttemptState::kEnded) != should_live)
        return fmt::format("attempt {} of {} is {} while the workload is {}", attempt.number.value, name_of(*workload),
                           to_text(attempt.state), to_text(workload->state));
    }
    if (is_live(workload->state) && std::ranges::all_of(workload->live()->replicas, [](const Replica& r) {
          return r.state == ReplicaState::kExited;
        }))
      return fmt::format("{} is {} without a replica", name_of(*workload), to_text(workload->state));
  }
  return {};
}

}  // namespace

Violation check_state(const State& state) {
  for (auto check : {check_keys, check_devices, check_grants, check_nodes, check_names, check_claims}) {
    if (Violation violation = check(state)) return violation;
  }
  return {};
}

Violation check_between_commands(const State& state) {
  if (Violation violation = check_gangs(state)) return violation;
  return check_attempts(state);
}

Violation check_core(const Core& core) {
  if (Violation violation = check_state(core.state())) return violation;
  if (!(Agenda::build(core.state()) == core.agenda())) return "the agenda is not what a rebuild gives";
  if (!Index::build(core.state()).equals(core.index())) return "the index is not what a rebuild gives";
  return {};
}

}  // namespace moulin
