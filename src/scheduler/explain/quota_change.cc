#include "scheduler/explain/quota_change.h"

#include <fmt/format.h>

#include "scheduler/claims.h"
#include "scheduler/explain/words.h"
#include "scheduler/tree_bounds.h"

namespace moulin {

namespace {

// Whether it starts when one amount at one level is `amount`.
bool starts_with(const Inquiry& inquiry, size_t level, const Bound& bound, BoundKind kind, int64_t amount) {
  TreeNode changed = *inquiry.applicant.path[level];
  Quota& quota = changed.quotas[bound.key];
  if (kind == BoundKind::kLimit) {
    quota.limit = amount;
  } else {
    quota.rest = false;
    quota.guaranteed = amount;
  }
  TreePath path = inquiry.applicant.path;
  path[level] = &changed;
  Applicant applicant{inquiry.spec(), path, inquiry.applicant.id};
  return can_start({inquiry.overlay, applicant, inquiry.workload, inquiry.stock});
}

std::optional<int64_t> smallest_amount(const Inquiry& inquiry, size_t level, const Bound& bound, BoundKind kind) {
  // Enough for all replicas at the largest share that a device can ask of each.
  int64_t devices = bound.key.resource == Resource::kGpu ? inquiry.spec().resources.gpu.count : 0;
  int64_t each = std::max(bound.each, kWholeDevice.milli * devices);
  int64_t most = std::max(bound.held + each * inquiry.replicas(), bound.amount);
  if (!starts_with(inquiry, level, bound, kind, most)) return std::nullopt;
  int64_t least = bound.amount + 1;
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (starts_with(inquiry, level, bound, kind, middle))
      most = middle;
    else
      least = middle + 1;
  }
  return most;
}

std::optional<Change> change_at(const Inquiry& inquiry, size_t level, BoundKind kind) {
  const TreeNode& node = *inquiry.applicant.path[level];
  bool root_guarantee = kind == BoundKind::kGuarantee && node.kind == TreeKind::kOrganisation;
  if (root_guarantee) return std::nullopt;  // it is the capacity
  const Room& room = inquiry.overlay.room();
  for (const Bound& bound : bounds_at(inquiry.overlay.view(), room, inquiry.applicant, level, kind)) {
    std::optional<int64_t> amount = smallest_amount(inquiry, level, bound, kind);
    if (!amount) continue;
    std::string_view what = kind == BoundKind::kLimit ? "limit" : "guarantee";
    return Change{
        .dimension = Dimension::kQuota,
        .from = bound.amount,
        .to = *amount,
        .at = node.name.text,
        .text = fmt::format("raise the {} of {} {} {} from {} to {}", what, to_text(node.kind), node.name.text,
                            key_words(bound.key), amount_words(bound.key.resource, bound.amount),
                            amount_words(bound.key.resource, *amount))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Change> find_quota_change(const Inquiry& inquiry) {
  bool production = inquiry.spec().priority_class == Class::kProduction;
  for (size_t level = 0; level < inquiry.applicant.path.size(); ++level) {
    if (auto change = change_at(inquiry, level, BoundKind::kLimit)) return change;
    if (!production) continue;
    if (auto change = change_at(inquiry, level, BoundKind::kGuarantee)) return change;
  }
  return std::nullopt;
}

}  // namespace moulin
