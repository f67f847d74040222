// Projects, departments and their quotas.
#include "core/may.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

template <class T>
std::optional<std::string> name_or_null(const T& name) {
  if (name.empty()) return std::nullopt;
  return name.text;
}

wire::Quota quota_of(const QuotaKey& key, const Quota& quota) {
  return {.pool = key.pool.text,
          .resource = key.resource,
          .model = name_or_null(key.model),
          .guaranteed = quota.guaranteed,
          .rest = quota.rest,
          .limit = quota.limit,
          .weight = quota.weight,
          .rank = quota.rank};
}

wire::TreeNode node_of(const Call& call, const TreeNode& node) {
  wire::TreeNode out{.name = node.name.text,
                     .kind = node.kind,
                     .parent = name_or_null(node.parent),
                     .created = call.wall(node.created)};
  for (const auto& [key, quota] : node.quotas) out.quotas.push_back(quota_of(key, quota));
  return out;
}

// The organisation counts as a department.
bool is_of(const TreeNode& node, TreeKind kind) {
  return node.kind == kind || (kind == TreeKind::kDepartment && node.kind == TreeKind::kOrganisation);
}

Result<const TreeNode*> find(const Call& call, const std::string& name, TreeKind kind) {
  const TreeNode* node = call.state().tree_node(TreeName{name});
  if (node != nullptr && is_of(*node, kind) && may(call.state(), call.actor, Verb::kSee, node->name)) return node;
  return Error{.code = Code::kNotFound,
               .message = "no such " + std::string(to_text(kind)),
               .field = "name",
               .given = name,
               .to_do = "run `moulin " + std::string(to_text(kind)) + " list`"};
}

QuotaKey key_of(const wire::QuotaChange& change) {
  return {.pool = PoolName{change.pool}, .resource = change.resource, .model = ModelName{change.model.value_or("")}};
}

// What is named changes, the rest of the quota stays.
Result<Quota> changed(Quota quota, const wire::QuotaChange& change) {
  if (change.limit && change.no_limit.value_or(false)) {
    return Error{.code = Code::kInvalid, .message = "limit and no_limit contradict each other", .field = "no_limit"};
  }
  if (change.reset) quota = {};
  if (change.guaranteed) {
    quota.guaranteed = *change.guaranteed;
    quota.rest = false;
  }
  if (change.rest) quota.rest = *change.rest;
  if (change.limit) quota.limit = change.limit;
  if (change.no_limit.value_or(false)) quota.limit.reset();
  if (change.weight) quota.weight = *change.weight;
  if (change.rank) quota.rank = *change.rank;
  return quota;
}

// Of projects and departments alike; the organisation is the first of the departments.
wire::TreeNodeList page_of(const Call& call, TreeKind kind, const std::string& after, int64_t limit,
                           const std::optional<std::string>& below) {
  wire::TreeNodeList page;
  bool root_shown = kind == TreeKind::kDepartment && after.empty();
  if (root_shown && may(call.state(), call.actor, Verb::kSee, kRootTree)) {
    if (const TreeNode* root = call.state().tree_node(kRootTree)) page.items.push_back(node_of(call, *root));
  }
  auto make = [&](const auto& entry) -> std::optional<wire::TreeNode> {
    const auto& [name, node] = entry;
    bool shown = node->kind == kind && (!below || is_at_or_below(call.state(), name, *below)) &&
                 may(call.state(), call.actor, Verb::kSee, name);
    if (!shown) return std::nullopt;
    return node_of(call, *node);
  };
  const auto& tree = call.state().tree;
  auto from = after.empty() || after == kRootTree.text ? tree.begin() : behind(tree, TreeName{after});
  fill_page(page, from, tree.end(), limit, make, [](const TreeName& name) { return name.text; }, kRootTree.text);
  return page;
}

Result<Response> list_projects(const Call& call) {
  auto wanted = TRY(parameters<wire::ListProjects>(call));
  return ok(page_of(call, TreeKind::kProject, TRY(read_cursor(wanted.cursor)), wanted.limit, wanted.below));
}

Result<Response> list_departments(const Call& call) {
  auto wanted = TRY(parameters<wire::ListDepartments>(call));
  return ok(page_of(call, TreeKind::kDepartment, TRY(read_cursor(wanted.cursor)), wanted.limit, std::nullopt));
}

Result<command::CreateTreeNode> read_new(const Call& call, TreeKind kind) {
  auto body = TRY(wire::read_body<wire::NewTreeNode>(call.request));
  command::CreateTreeNode create{
      .name = TreeName{body.name}, .kind = kind, .parent = TreeName{body.parent}, .quotas = {}};
  for (size_t i = 0; i < body.quotas.size(); ++i) {
    QuotaKey key = key_of(body.quotas[i]);
    if (create.quotas.contains(key)) {
      return Error{.code = Code::kInvalid,
                   .message = "two quotas of the same pool, resource and model",
                   .field = "quotas[" + std::to_string(i) + "]",
                   .to_do = "keep one of them"};
    }
    create.quotas[key] = TRY(changed(Quota{}, body.quotas[i]));
  }
  return create;
}

Result<command::ChangeQuota> read_change(const Call& call, const std::string& name, TreeKind kind) {
  auto body = TRY(wire::read_body<wire::QuotaChange>(call.request));
  const TreeNode* node = TRY(find(call, name, kind));
  QuotaKey key = key_of(body);
  auto found = node->quotas.find(key);
  Quota quota = TRY(changed(found == node->quotas.end() ? Quota{} : found->second, body));
  command::ChangeQuota change{.at = node->name, .key = key, .quota = quota};
  if (quota == Quota{}) change.quota.reset();
  return change;
}

Respond respond_node(std::string name, TreeKind kind, int status) {
  return [name = std::move(name), kind, status](const Call& answered, const Events&) {
    Result<const TreeNode*> node = find(answered, name, kind);
    return node ? ok(node_of(answered, **node), status) : problem_response(node.error());
  };
}

template <class Command>
void give_or_refuse(Call call, Result<Command> made, Respond respond) {
  if (!made) return call.responder.answer(problem_response(made.error()));
  give_command(std::move(call), std::move(*made), std::move(respond));
}

}  // namespace

void list_tree(Call call, TreeKind kind) {
  in_background(std::move(call), [kind](Call asked) {
    finish(asked, kind == TreeKind::kProject ? list_projects(asked) : list_departments(asked));
  });
}

void show_tree_node(Call call, TreeKind kind) {
  Result<const TreeNode*> node = find(call, call.values.at(0), kind);
  call.responder.answer(node ? ok(node_of(call, **node)) : problem_response(node.error()));
}

void create_tree_node(Call call, TreeKind kind) {
  Result<command::CreateTreeNode> create = read_new(call, kind);
  std::string name = create ? create->name.text : "";
  give_or_refuse(std::move(call), std::move(create), respond_node(name, kind, 201));
}

void remove_tree_node(Call call, TreeKind kind) {
  Result<const TreeNode*> node = find(call, call.values.at(0), kind);
  if (!node) return call.responder.answer(problem_response(node.error()));
  TreeName name = (*node)->name;
  give_command(std::move(call), command::RemoveTreeNode{name}, [](const Call&, const Events&) { return nothing(); });
}

void change_quota(Call call, TreeKind kind) {
  std::string name = call.values.at(0);
  Result<command::ChangeQuota> change = read_change(call, name, kind);
  give_or_refuse(std::move(call), std::move(change), respond_node(name, kind, 200));
}

}  // namespace moulin::handle
