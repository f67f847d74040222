#include "core/apply.h"

#include "core/apply_workload.h"

namespace moulin {

namespace {

void fold(State& state, const event::EpochBegan& event, Instant) {
  state.epoch = event.epoch;
  state.boot_id = event.boot_id;
  state.wall_offset = event.wall_offset;
  state.simulated = event.simulated;
}
void fold(State& state, const event::WallClockMoved& event, Instant) { state.wall_offset = event.wall_offset; }
void fold(State& state, const event::RequestRemembered& event, Instant at) {
  state.requests.set({event.user, event.key}, Cow<RememberedRequest>({event.digest, event.made, at}));
}
void fold(State& state, const event::RequestsForgotten& event, Instant) {
  std::vector<RequestKey> old;
  for (const auto& [key, request] : state.requests) {
    if (request->at < event.before) old.push_back(key);
  }
  for (const RequestKey& key : old) state.requests.erase(key);
}

void fold(State& state, const event::TreeNodeCreated& event, Instant) {
  state.tree.set(event.node.name, Cow<TreeNode>(event.node));
  state.tree_order = event.node.order + 1;
}
void fold(State& state, const event::QuotaChanged& event, Instant) {
  std::map<QuotaKey, Quota>& quotas = state.tree.at_mutable(event.at).mutate().quotas;
  if (event.quota)
    quotas[event.key] = *event.quota;
  else
    quotas.erase(event.key);
}
void fold(State& state, const event::TreeNodeRemoved& event, Instant) {
  MOULIN_CHECK(state.tree.erase(event.name));
  std::vector<Binding> gone;
  for (const auto& [binding, held] : state.bindings) {
    if (binding.at == event.name) gone.push_back(binding);
  }
  for (const Binding& binding : gone) state.bindings.erase(binding);
}

void fold(State& state, const event::UserCreated& event, Instant) {
  state.users.set(event.user.name, Cow<User>(event.user));
}
void fold(State& state, const event::UserChanged& event, Instant) {
  User user = *state.users.at(event.name);
  user.account = event.account;
  state.users.set(event.name, Cow<User>(user));
}
void fold(State& state, const event::UserRemoved& event, Instant) {
  MOULIN_CHECK(state.users.erase(event.name));
  std::vector<Binding> bindings;
  for (const auto& [binding, held] : state.bindings) {
    if (binding.user == event.name) bindings.push_back(binding);
  }
  for (const Binding& binding : bindings) state.bindings.erase(binding);
  std::vector<TokenId> tokens;
  for (const auto& [id, token] : state.tokens) {
    if (token->user == event.name) tokens.push_back(id);
  }
  for (TokenId id : tokens) state.tokens.erase(id);
}
void fold(State& state, const event::TokenIssued& event, Instant) {
  state.tokens.set(event.token.id, Cow<Token>(event.token));
}
void fold(State& state, const event::TokenRevoked& event, Instant) { MOULIN_CHECK(state.tokens.erase(event.id)); }
void fold(State& state, const event::RoleGranted& event, Instant) { state.bindings.set(event.binding, true); }
void fold(State& state, const event::RoleRevoked& event, Instant) { MOULIN_CHECK(state.bindings.erase(event.binding)); }

void fold(State& state, const event::NodeRegistered& event, Instant) {
  Node node = event.node;
  if (const Node* known = state.node(node.name)) node.mode = known->mode;
  state.nodes.set(event.node.name, Cow<Node>(std::move(node)));
}
void fold(State& state, const event::NodeModeChanged& event, Instant) {
  state.nodes.at_mutable(event.node).mutate().mode = event.mode;
}
void fold(State& state, const event::NodePresenceChanged& event, Instant) {
  state.nodes.at_mutable(event.node).mutate().presence = event.presence;
}
void fold(State& state, const event::GpuChanged& event, Instant) {
  Node& node = state.nodes.at_mutable(event.node).mutate();
  auto index = static_cast<size_t>(event.gpu.index);
  MOULIN_CHECK(index < node.gpus.size() && node.gpus[index].uuid == event.gpu.uuid);
  node.gpus[index] = event.gpu;
}
void fold(State& state, const event::NodeRemoved& event, Instant) { MOULIN_CHECK(state.nodes.erase(event.node)); }

}  // namespace

void apply(State& state, const Event& event) {
  state.sequence = state.sequence.next();
  state.now = std::max(state.now, event.at);
  std::visit(
      [&](const auto& body) {
        if constexpr (requires { fold(state, body, state.now); })
          fold(state, body, state.now);
        else
          fold_workload(state, body, state.now);
      },
      event.body);
}

}  // namespace moulin
