// What each part of the tree was promised, uses and waits for; and who is served next.
#include <algorithm>

#include "core/may.h"
#include "scheduler/limits.h"
#include "scheduler/order.h"
#include "server/handlers/handlers.h"
#include "server/handlers/workload_wire.h"

namespace moulin::handle {

namespace {

// Quotas that are declared here, and whatever is held here without one.
std::set<QuotaKey> keys_at(const Call& call, const TreeNode& node) {
  std::set<QuotaKey> keys{QuotaKey{}};
  for (const auto& [key, quota] : node.quotas) keys.insert(key);
  if (const Cow<Amounts>* amounts = call.view->index.room().amounts().find(node.name)) {
    for (const auto& [key, amount] : (*amounts)->entries()) {
      if (key.resource == Resource::kGpu && key.model.empty()) keys.insert(key);
    }
  }
  return keys;
}

wire::QuotaUse use_of(const Call& call, const TreePath& path, const QuotaKey& key, const WaitingAmounts& waiting) {
  const TreeNode& node = *path.front();
  auto found = node.quotas.find(key);
  Quota quota = found == node.quotas.end() ? Quota{} : found->second;
  Amount amount = call.view->index.room().amount(node.name, key);
  wire::QuotaUse use{.name = node.name.text,
                     .kind = node.kind,
                     .depth = std::ssize(path) - 1,
                     .pool = key.pool.text,
                     .resource = key.resource,
                     .guaranteed = guaranteed(call.state(), call.view->index, path, 0, key),
                     .rest = quota.rest,
                     .limit = quota.limit,
                     .weight = quota.weight,
                     .rank = quota.rank,
                     .used = amount.held,
                     .production = amount.production};
  if (!node.parent.empty()) use.parent = node.parent.text;
  if (!key.model.empty()) use.model = key.model.text;
  use.borrowed = std::max<int64_t>(0, use.used - use.guaranteed);
  auto asked_for = waiting.find({node.name, key});
  use.waiting = asked_for == waiting.end() ? 0 : asked_for->second;
  return use;
}

bool on_one_line(const State& state, const TreeName& name, const std::string& at) {
  return is_at_or_below(state, name, at) || is_at_or_below(state, TreeName{at}, name.text);
}

// Parents first, children in order of creation.
void walk(const Call& call, const TreeName& name, const std::function<void(const TreeName&)>& visit) {
  visit(name);
  if (const std::vector<TreeName>* children = call.view->index.children(name)) {
    for (const TreeName& child : *children) walk(call, child, visit);
  }
}

Result<Response> quota(const Call& call) {
  auto wanted = TRY(parameters<wire::ListQuota>(call));
  if (wanted.at && !may(call.state(), call.actor, Verb::kSee, TreeName{*wanted.at})) {
    return Error{.code = Code::kNotFound,
                 .message = "no such project or department",
                 .field = "at",
                 .given = *wanted.at,
                 .to_do = "run `moulin project list`"};
  }
  auto waiting = call.world.digests.waiting.get(call.view, waiting_below);
  wire::QuotaList out;
  walk(call, kRootTree, [&](const TreeName& name) {
    if (!may(call.state(), call.actor, Verb::kSee, name)) return;
    if (wanted.at && !on_one_line(call.state(), name, *wanted.at)) return;
    TreePath path = path_to_root(call.state(), name);
    for (const QuotaKey& key : keys_at(call, *path.front())) out.items.push_back(use_of(call, path, key, *waiting));
  });
  return ok(out);
}

wire::QueueItem queue_item(const Call& call, const Workload& workload, int64_t position) {
  wire::WorkloadSummary summary = summary_of(call.state(), workload, call.now());
  return {.position = position,
          .id = workload.id,
          .name = summary.name,
          .project = summary.project,
          .owner = summary.owner,
          .class_ = summary.class_,
          .priority = summary.priority,
          .gpu_milli = summary.gpu_milli,
          .submitted = summary.submitted,
          .reason = summary.reason,
          .expected_start = summary.expected_start,
          .expected_start_reason = summary.expected_start_reason};
}

// The cursor is the position of the last one shown: the order changes with every start,
// so a page is where one stands now.
Result<Response> queue(const Call& call) {
  auto wanted = TRY(parameters<wire::ListQueue>(call));
  std::string cursor = TRY(read_cursor(wanted.cursor));
  int64_t after = cursor.empty() ? 0 : TRY(Json(JsonNumber{cursor}).integer());
  View view = call.view->view(call.now());
  Overlay overlay(view);
  ServingOrder order(overlay);
  wire::QueuePage page;
  for (int64_t position = 1;; ++position) {
    std::optional<WorkloadId> id = order.next();
    if (!id) break;
    const Workload& workload = *call.state().workload(*id);
    if (position <= after || !may(call.state(), call.actor, Verb::kSee, workload.spec.project)) continue;
    if (wanted.project && !is_at_or_below(call.state(), workload.spec.project, *wanted.project)) continue;
    if (std::ssize(page.items) == wanted.limit) {
      page.next = make_cursor(std::to_string(page.items.back().position));
      break;
    }
    page.items.push_back(queue_item(call, workload, position));
  }
  return ok(page);
}

}  // namespace

void list_quota(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, quota(asked)); });
}

void list_queue(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, queue(asked)); });
}

}  // namespace moulin::handle
