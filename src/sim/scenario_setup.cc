// Nodes, tree and users: at the top of a scenario, and as steps.
#include "base/json_reader.h"
#include "sim/scenario_facts.h"
#include "sim/scenario_steps.h"

namespace moulin::scenario {

namespace {

Status create_below(World& world, const TreeName& parent, const Json& value, std::string_view path);

Status create_or_change(World& world, const TreeName& parent, const std::string& name, const Json& value,
                        std::string_view path) {
  std::map<QuotaKey, Quota> quotas = TRY(read_quotas(value, path));
  const Json* holds = value.find("holds");
  if (world.simulation.state().tree_node(TreeName(name)) != nullptr) {
    for (const auto& [key, quota] : quotas) {
      if (!world.refusal) world.give(command::ChangeQuota{.at = TreeName(name), .key = key, .quota = quota});
    }
  } else {
    world.give(command::CreateTreeNode{.name = TreeName(name),
                                       .kind = holds == nullptr ? TreeKind::kProject : TreeKind::kDepartment,
                                       .parent = parent,
                                       .quotas = std::move(quotas)});
  }
  if (holds == nullptr || world.refusal) return {};
  return create_below(world, TreeName(name), *holds, member_path(path, "holds"));
}

Status create_below(World& world, const TreeName& parent, const Json& value, std::string_view path) {
  if (!value.is_object()) return wrong_value(value, path, "names of projects and departments with their quotas");
  for (const auto& [name, item] : value.members()) {
    TRY(create_or_change(world, parent, name, item, member_path(path, name)));
    if (world.refusal) return {};
  }
  return {};
}

Status read_roles(World& world, const UserName& user, const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"viewer", "member", "admin", "account"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  std::string account;
  if (const Json* text = reader.find("account")) account = TRY(read_text(*text, reader.path_of("account"), {}));
  world.give(command::CreateUser{.name = user, .account = account});
  for (Role role : {Role::kViewer, Role::kMember, Role::kAdmin}) {
    const Json* at = reader.find(to_text(role));
    if (at == nullptr || world.refusal) continue;
    TreeName place(TRY(read_text(*at, reader.path_of(to_text(role)), {})));
    world.give(command::GrantRole{Binding{.user = user, .at = place, .role = role}});
  }
  return {};
}

}  // namespace

Status set_nodes(World& world, const Json& value, std::string_view path) {
  for (Node& node : TRY(read_nodes(value, path))) {
    if (!world.refusal) world.give_as_system(command::RegisterNode{std::move(node)});
  }
  return {};
}

Status set_tree(World& world, const Json& value, std::string_view path) {
  return create_below(world, kRootTree, value, path);
}

Status set_users(World& world, const Json& value, std::string_view path) {
  if (!value.is_object()) return wrong_value(value, path, "names of users with their roles");
  for (const auto& [name, roles] : value.members()) {
    TRY(read_roles(world, UserName(name), roles, member_path(path, name)));
    if (world.refusal) return {};
  }
  return {};
}

}  // namespace moulin::scenario
