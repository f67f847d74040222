#include "server/bootstrap.h"

#include <algorithm>
#include <future>
#include <set>

#include "shim/files.h"

namespace moulin {

namespace {

const UserName kAdminName{"admin"};

// Nodes that the engine no longer has: forgotten, or shown as down while something is
// still held there.
Status remove_missing_nodes(const State& state, const GpuInventory& inventory, const Give& give) {
  std::set<NodeName> present;
  for (const Node& node : inventory.nodes) present.insert(node.name);
  for (const auto& [name, node] : state.nodes) {
    if (present.contains(name) || give(command::RemoveNode{name})) continue;
    TRY(give(command::ReportPresence{name, Presence::kDown}));
  }
  return {};
}

// Devices changed while something holds them: what is gone takes nothing new, the rest
// is registered with the next start.
Status lose_missing_gpus(const State& state, const Node& found, const Give& give) {
  for (const Gpu& known : state.node(found.name)->gpus) {
    if (std::ranges::any_of(found.gpus, [&](const Gpu& gpu) { return gpu.uuid == known.uuid; })) continue;
    Gpu lost = known;
    lost.health = Health::kUnhealthy;
    lost.health_reason = "the device is no longer there";
    TRY(give(command::ReportGpu{found.name, std::move(lost)}));
  }
  return {};
}

Status register_nodes(const State& state, const GpuInventory& inventory, const Give& give) {
  for (const Node& node : inventory.nodes) {
    Node registered = node;
    registered.simulated = inventory.source == GpuSource::kSimulated;
    Result<Events> known = give(command::RegisterNode{registered});
    if (known) continue;
    if (known.error().code != Code::kConflict) return known.error();
    TRY(lose_missing_gpus(state, registered, give));
  }
  return {};
}

constexpr Bytes kTokenFileMax = kibibytes(1);

bool has_admin(const State& state) {
  for (const auto& [binding, held] : state.bindings) {
    if (binding.at == kRootTree && binding.role == Role::kAdmin) return true;
  }
  return false;
}

// Whether the file holds a token that is worth something.
bool is_good_token(const State& state, const DataFolder& folder) {
  Result<std::string> text = read_file_at(folder.admin_token(), kTokenFileMax);
  if (!text) return false;
  if (text->ends_with('\n')) text->pop_back();
  Result<TokenText> token = parse_token(*text);
  return token && state.tokens.contains(token->id);
}

// A token in a file that only the owner of the installation can read.
Status make_admin(Reactor& reactor, Clock& clock, IdMaker& ids, const std::string& account, const DataFolder& folder,
                  const Give& give) {
  if (!has_admin(reactor.view()->state)) {
    if (!reactor.view()->state.users.contains(kAdminName)) {
      TRY(give(command::CreateUser{kAdminName, account}));
    }
    TRY(give(command::GrantRole{{kAdminName, kRootTree, Role::kAdmin}}));
  }
  // Somebody else may have taken over, and removed the first one.
  if (!reactor.view()->state.users.contains(kAdminName)) return {};
  if (is_good_token(reactor.view()->state, folder)) return {};
  NewToken made = make_token({ids.next(clock.wall_offset() + Duration{clock.now().us})}, kAdminName);
  made.token.label = "first administrator";
  made.token.issued = clock.now();
  Fd data = TRY(open_chosen_folder(folder.path()));
  TRY(write_atomically(data, DataFolder::kAdminToken, made.text + "\n", Durability::kDisk));
  TRY(give(command::IssueToken{made.token}));
  return {};
}

}  // namespace

Result<Events> give(Reactor& reactor, CommandBody body) {
  std::promise<Result<Events>> promise;
  std::future<Result<Events>> answer = promise.get_future();
  reactor.submit(Actor{}, std::move(body), [&promise](const Result<Events>& result) { promise.set_value(result); });
  return answer.get();
}

Status bootstrap(Reactor& reactor, Clock& clock, IdMaker& ids, const GpuInventory& inventory,
                 const BootstrapFacts& facts, const DataFolder& folder, const Give& give) {
  TRY(give(command::BeginEpoch{.boot_id = facts.boot_id,
                               .wall_offset = clock.wall_offset(),
                               .version = facts.version,
                               .simulated = inventory.source == GpuSource::kSimulated}));
  PublishedView view = reactor.view();
  TRY(remove_missing_nodes(view->state, inventory, give));
  TRY(register_nodes(view->state, inventory, give));
  return make_admin(reactor, clock, ids, facts.starter_account, folder, give);
}

}  // namespace moulin
