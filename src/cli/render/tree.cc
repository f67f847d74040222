#include "cli/render/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

std::string optional_amount(const std::optional<int64_t>& amount, Resource resource, std::string_view without) {
  return amount ? amount_text(*amount, resource) : std::string(without);
}

// "gpu", "gpu H100-80GB", "memory"; with the pool unless it is the default one.
std::string resource_text(Resource resource, const std::optional<std::string>& model, const std::string& pool) {
  std::string text(to_text(resource));
  if (model) text += " " + *model;
  if (pool != kDefaultPool.text) text += " in " + pool;
  return text;
}

Ink ink_of_use(const wire::QuotaUse& use) {
  if (use.limit && use.used >= *use.limit) return Ink::kRed;
  if (use.borrowed > 0) return Ink::kYellow;
  return use.used > 0 ? Ink::kGreen : Ink::kPlain;
}

std::string quota_text(const wire::Quota& quota) {
  std::string text = resource_text(quota.resource, quota.model, quota.pool) + ": guaranteed ";
  text += quota.rest ? "the rest" : amount_text(quota.guaranteed, quota.resource);
  text += ", limit " + optional_amount(quota.limit, quota.resource, "none");
  if (quota.weight != 1) text += fmt::format(", weight {}", quota.weight);
  if (quota.rank != 0) text += fmt::format(", rank {}", quota.rank);
  return text;
}

}  // namespace

std::string render_quota(const wire::QuotaList& quota, const View& view) {
  if (quota.items.empty()) return "There is no quota that you may see.\n";
  Table table({{"NAME"},
               {"OF"},
               {"GUARANTEED", Align::kRight},
               {"LIMIT", Align::kRight},
               {"USED", Align::kRight},
               {"BORROWED", Align::kRight},
               {"WAITING", Align::kRight},
               {"WEIGHT", Align::kRight},
               {"RANK", Align::kRight}});
  // Two columns less for those who use neither.
  bool is_usual = std::all_of(quota.items.begin(), quota.items.end(),
                              [](const wire::QuotaUse& use) { return use.weight == 1 && use.rank == 0; });
  for (const wire::QuotaUse& use : quota.items) {
    auto amount = [&](int64_t number) { return number == 0 ? "-" : amount_text(number, use.resource); };
    table.add({{std::string(static_cast<size_t>(use.depth) * 2, ' ') + use.name},
               {resource_text(use.resource, use.model, use.pool)},
               {amount_text(use.guaranteed, use.resource) + (use.rest ? " (rest)" : "")},
               {optional_amount(use.limit, use.resource, "none")},
               {amount(use.used), ink_of_use(use)},
               {amount(use.borrowed)},
               {amount(use.waiting)},
               {is_usual ? "" : fmt::format("{}", use.weight)},
               {is_usual ? "" : fmt::format("{}", use.rank)}});
  }
  return table.text(view);
}

std::string render_queue(const wire::QueuePage& queue, const View& view) {
  if (queue.items.empty()) return "Nothing waits.\n";
  Table table({{"#", Align::kRight},
               {"ID", Align::kLeft, Fit::kWhole},
               {"NAME"},
               {"PROJECT"},
               {"CLASS"},
               {"PRIORITY", Align::kRight},
               {"GPU", Align::kRight},
               {"WAITS", Align::kRight},
               {"EXPECTED"},
               {"WHY"}});
  for (const wire::QueueItem& item : queue.items) {
    table.add({{fmt::format("{}", item.position)},
               {to_text(item.id)},
               {item.name},
               {item.project},
               {std::string(to_text(item.class_))},
               {fmt::format("{}", item.priority)},
               {item.gpu_milli.milli > 0 ? to_text(item.gpu_milli) : "-"},
               {elapsed(item.submitted, view.now)},
               {item.expected_start ? relative_text(*item.expected_start, view) : ""},
               {item.reason ? item.reason->text : ""}});
  }
  std::string text = table.text(view);
  if (queue.next) text += "There are more: narrow the list, or raise --limit.\n";
  return text;
}

std::string render_tree_nodes(const wire::TreeNodeList& nodes, const View& view) {
  if (nodes.items.empty()) return "None that you may see.\n";
  Table table({{"NAME"}, {"KIND"}, {"BELOW"}, {"QUOTA"}});
  for (const wire::TreeNode& node : nodes.items) {
    std::string quotas;
    for (const wire::Quota& quota : node.quotas) quotas += (quotas.empty() ? "" : "; ") + quota_text(quota);
    table.add({{node.name},
               {std::string(to_text(node.kind))},
               {node.parent.value_or("")},
               {quotas.empty() ? "guaranteed 0, no limit" : quotas}});
  }
  return table.text(view);
}

std::string render_tree_node(const wire::TreeNode& node, const View& view) {
  Facts facts;
  facts.add(std::string(to_text(node.kind)), node.name, Ink::kBold);
  facts.add("below", node.parent.value_or(""));
  facts.add("made", relative_text(node.created, view));
  if (node.quotas.empty()) facts.add("quota", "guaranteed 0, no limit");
  for (const wire::Quota& quota : node.quotas) facts.add("quota", quota_text(quota));
  return facts.text(view);
}

}  // namespace moulin::cli
