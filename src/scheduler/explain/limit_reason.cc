// Which limit or guarantee of the quota tree leaves too little, at which level.
#include <fmt/format.h>

#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"
#include "scheduler/tree_bounds.h"

namespace moulin {

namespace {

Reason reason_of(ReasonCode code, const Inquiry& inquiry, const TreeNode& node, const Bound& bound) {
  int64_t needed = bound.each * inquiry.replicas();
  Reason reason{.code = code};
  reason.numbers = {{"bound", bound.amount}, {"held", bound.held}, {"needed", needed}};
  reason.names = {{std::string(to_text(node.kind)), node.name.text},
                  {"resource", std::string(to_text(bound.key.resource))},
                  {"pool", bound.key.pool.text}};
  if (!bound.key.model.empty()) reason.names["model"] = bound.key.model.text;
  auto words = [&](int64_t amount) { return amount_words(bound.key.resource, amount); };
  if (code == ReasonCode::kGuaranteeNeeded) {
    reason.text = fmt::format(
        "production must fit inside the guarantee of {} {}: {} guaranteed {}, production holds {}, "
        "this needs {}",
        to_text(node.kind), node.name.text, words(bound.amount), key_words(bound.key), words(bound.held),
        words(needed));
  } else {
    reason.text =
        fmt::format("{} {} is limited to {} {} and holds {}; this needs {}", to_text(node.kind), node.name.text,
                    words(bound.amount), key_words(bound.key), words(bound.held), words(needed));
  }
  return reason;
}

void explain_bounds(const Inquiry& inquiry, BoundKind kind, Reasons& reasons) {
  const Room& room = inquiry.overlay.room();
  for (size_t level = 0; level < inquiry.applicant.path.size(); ++level) {
    const TreeNode& node = *inquiry.applicant.path[level];
    ReasonCode code = kind == BoundKind::kGuarantee ? ReasonCode::kGuaranteeNeeded
                      : level == 0                  ? ReasonCode::kProjectLimit
                                                    : ReasonCode::kAncestorLimit;
    for (const Bound& bound : blocking_bounds(inquiry.overlay.view(), room, inquiry.applicant, level, kind))
      reasons.push_back(reason_of(code, inquiry, node, bound));
  }
}

}  // namespace

void explain_limits(const Inquiry& inquiry, Reasons& reasons) { explain_bounds(inquiry, BoundKind::kLimit, reasons); }

void explain_guarantee(const Inquiry& inquiry, Reasons& reasons) {
  if (inquiry.spec().priority_class == Class::kProduction) explain_bounds(inquiry, BoundKind::kGuarantee, reasons);
}

}  // namespace moulin
