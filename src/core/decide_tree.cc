// The quota tree.
#include "base/text.h"
#include "core/decide_parts.h"
#include "core/may.h"

namespace moulin {

namespace {

std::string key_text(const QuotaKey& key) {
  std::string text = "quota." + key.pool.text + "." + std::string(to_text(key.resource));
  return key.model.empty() ? text : text + "." + key.model.text;
}

// As a person writes it: GPUs and CPUs are kept in thousandths.
std::string amount_text(const QuotaKey& key, int64_t amount) {
  return key.resource == Resource::kMemory ? to_text(Bytes{amount}) : to_text(Share{amount});
}

Error bad_quota(const QuotaKey& key, std::string_view part, std::string given, std::string allowed) {
  return {.code = Code::kInvalid,
          .message = "not a quota",
          .field = key_text(key) + "." + std::string(part),
          .given = std::move(given),
          .allowed = std::move(allowed)};
}

Status check_quota(const QuotaKey& key, const Quota& quota) {
  if (!key.model.empty() && key.resource != Resource::kGpu) {
    return Error{.code = Code::kInvalid, .message = "only quotas of gpu name a model", .field = key_text(key)};
  }
  std::string amounts = "0 to " + amount_text(key, kQuotaAmountMax);
  if (quota.guaranteed < 0 || quota.guaranteed > kQuotaAmountMax)
    return bad_quota(key, "guaranteed", amount_text(key, quota.guaranteed), amounts);
  if (quota.limit && (*quota.limit < 0 || *quota.limit > kQuotaAmountMax))
    return bad_quota(key, "limit", amount_text(key, *quota.limit), amounts);
  if (quota.limit && !quota.rest && quota.guaranteed > *quota.limit) {
    return bad_quota(key, "guaranteed", amount_text(key, quota.guaranteed),
                     "at most the limit, " + amount_text(key, *quota.limit));
  }
  if (quota.weight < 0 || quota.weight > kWeightMax)
    return bad_quota(key, "weight", std::to_string(quota.weight), "0 to " + std::to_string(kWeightMax));
  if (quota.rank < -kRankMax || quota.rank > kRankMax) {
    return bad_quota(key, "rank", std::to_string(quota.rank),
                     std::to_string(-kRankMax) + " to " + std::to_string(kRankMax));
  }
  return {};
}

// Only one sibling may take the rest: two would each get all of it.
Status check_rest(const State& state, const TreeName& parent, const TreeName& self, const QuotaKey& key,
                  const Quota& quota) {
  if (!quota.rest) return {};
  for (const auto& [name, node] : state.tree) {
    if (name == self || node->parent != parent) continue;
    auto found = node->quotas.find(key);
    if (found == node->quotas.end() || !found->second.rest) continue;
    return Error{.code = Code::kConflict,
                 .message = name.text + " already takes the rest of " + parent.text,
                 .field = key_text(key) + ".guaranteed",
                 .given = "rest",
                 .allowed = "an amount",
                 .to_do = "give " + name.text + " an amount first"};
  }
  return {};
}

Error no_such_node(const TreeName& name, std::string_view field) {
  return {.code = Code::kNotFound,
          .message = "no such project or department",
          .field = std::string(field),
          .given = name.text,
          .to_do = "run `moulin project list`"};
}

Status check_parent(const State& state, const TreeName& parent) {
  const TreeNode* node = state.tree_node(parent);
  if (node == nullptr) return no_such_node(parent, "parent");
  if (node->kind == TreeKind::kProject) {
    return Error{.code = Code::kInvalid,
                 .message = "a project holds workloads, not other projects",
                 .field = "parent",
                 .given = parent.text,
                 .allowed = "the organisation or a department"};
  }
  if (path_to_root(state, parent).size() < static_cast<size_t>(kTreeDepthMax)) return {};
  return Error{.code = Code::kInvalid,
               .message = "the tree would be too deep",
               .field = "parent",
               .given = parent.text,
               .allowed = std::to_string(kTreeDepthMax) + " levels"};
}

// A quota divides what the parent has: who manages the parent decides.
Status require_above(const Case& c, const TreeNode& node) {
  const TreeName& above = node.parent.empty() ? node.name : node.parent;
  if (may(c.state(), c.actor(), Verb::kManageTree, above)) return {};
  TRY(require(c.state(), c.actor(), Verb::kSee, node.name));
  return forbidden(c.actor(), Verb::kManageTree, above);
}

constexpr size_t kTreeNodesMax = 10'000;
constexpr size_t kQuotasMax = 100;

}  // namespace

Status judge(Case& c, const command::CreateTreeNode& command) {
  TRY(require(c.state(), c.actor(), Verb::kManageTree, command.parent));
  TRY(check_name(to_text(command.kind), command.name.text));
  if (command.kind == TreeKind::kOrganisation) {
    return Error{.code = Code::kInvalid,
                 .message = "there is one organisation",
                 .field = "kind",
                 .allowed = "department or project"};
  }
  if (c.state().tree.contains(command.name)) {
    return Error{.code = Code::kConflict,
                 .message = "a project or department of this name exists",
                 .field = "name",
                 .given = command.name.text,
                 .to_do = "choose another name"};
  }
  TRY(check_parent(c.state(), command.parent));
  if (c.state().tree.size() >= kTreeNodesMax || command.quotas.size() > kQuotasMax) {
    return Error{
        .code = Code::kTooLarge,
        .message = "too many projects, or too many quotas of one",
        .allowed = std::to_string(kTreeNodesMax) + " projects with " + std::to_string(kQuotasMax) + " quotas each"};
  }
  for (const auto& [key, quota] : command.quotas) {
    TRY(check_quota(key, quota));
    TRY(check_rest(c.state(), command.parent, command.name, key, quota));
  }
  c.happens(event::TreeNodeCreated{{.name = command.name,
                                    .kind = command.kind,
                                    .parent = command.parent,
                                    .quotas = command.quotas,
                                    .created = c.at(),
                                    .order = c.state().tree_order}});
  return {};
}

Status judge(Case& c, const command::ChangeQuota& command) {
  const TreeNode* node = c.state().tree_node(command.at);
  if (node == nullptr) return no_such_node(command.at, "project");
  TRY(require_above(c, *node));
  if (command.quota) {
    TRY(check_quota(command.key, *command.quota));
    TRY(check_rest(c.state(), node->parent, node->name, command.key, *command.quota));
  }
  auto found = node->quotas.find(command.key);
  bool same =
      command.quota ? found != node->quotas.end() && found->second == *command.quota : found == node->quotas.end();
  if (same) return {};
  if (node->quotas.size() >= kQuotasMax && found == node->quotas.end()) {
    return Error{
        .code = Code::kTooLarge, .message = "too many quotas of one project", .allowed = std::to_string(kQuotasMax)};
  }
  c.happens(event::QuotaChanged{command.at, command.key, command.quota});
  return {};
}

Status judge(Case& c, const command::RemoveTreeNode& command) {
  const TreeNode* node = c.state().tree_node(command.name);
  if (node == nullptr) return no_such_node(command.name, "name");
  TRY(require_above(c, *node));
  if (node->kind == TreeKind::kOrganisation) {
    return Error{.code = Code::kInvalid,
                 .message = "the organisation cannot be removed",
                 .field = "name",
                 .given = command.name.text};
  }
  for (const auto& [name, other] : c.state().tree) {
    if (other->parent != command.name) continue;
    return Error{.code = Code::kConflict,
                 .message = command.name.text + " still holds " + name.text,
                 .to_do = "remove that first"};
  }
  for (const auto& [id, workload] : c.state().workloads) {
    if (workload->spec.project != command.name || is_finished(workload->state)) continue;
    return Error{.code = Code::kConflict,
                 .message = command.name.text + " still has the workload " + workload->spec.name,
                 .given = to_text(id),
                 .to_do = "stop it, or wait until it has ended"};
  }
  c.happens(event::TreeNodeRemoved{command.name});
  return {};
}

}  // namespace moulin
