#include "scheduler/explain/reasons.h"

#include <algorithm>

namespace moulin {

namespace {

// The tree leaves room in one place and the hardware in another, and neither blocks alone.
Reason nowhere_both(const Inquiry& inquiry) {
  return {.code = ReasonCode::kNoCapacity,
          .text =
              "where the limits of its project and ancestors leave room, no device is free; where devices are "
              "free, a limit does not leave room",
          .numbers = {},
          .names = {{"project", inquiry.spec().project.text}}};
}

void explain_hardware(const Inquiry& inquiry, Reasons& reasons) {
  explain_limits(inquiry, reasons);
  explain_guarantee(inquiry, reasons);
  explain_model(inquiry, reasons);
  explain_gpu(inquiry, reasons);
  explain_beside_gpu(inquiry, reasons);
  explain_gang(inquiry, reasons);
  if (reasons.empty()) reasons.push_back(nowhere_both(inquiry));
  explain_protection(inquiry, reasons);
  explain_claims(inquiry, reasons);
}

}  // namespace

Reasons find_reasons(const Inquiry& inquiry) {
  Reasons reasons;
  explain_admission(inquiry, reasons);
  if (!reasons.empty()) return reasons;
  bool starts = can_start(inquiry);
  if (!starts && !explain_own_claim(inquiry, reasons)) explain_hardware(inquiry, reasons);
  explain_back_off(inquiry, reasons);
  if (!starts) explain_nodes(inquiry, reasons);
  explain_engine(inquiry, reasons);
  return in_order(std::move(reasons));
}

Reasons in_order(Reasons reasons) {
  Reasons ordered;
  for (Reason& reason : reasons)
    ordered.insert(std::ranges::upper_bound(ordered, reason.code, {}, &Reason::code), std::move(reason));
  return ordered;
}

std::vector<ReasonCode> codes_of(const Reasons& reasons) {
  std::vector<ReasonCode> codes;
  for (const Reason& reason : reasons) {
    if (codes.empty() || codes.back() != reason.code) codes.push_back(reason.code);
  }
  return codes;
}

}  // namespace moulin
