// Only a dry run, or a cluster that lost hardware or limits since, has these.
#include "scheduler/admission.h"
#include "scheduler/explain/inquiry.h"

namespace moulin {

namespace {

void add(Reasons& reasons, ReasonCode code, const std::optional<Error>& error) {
  if (!error) return;
  Reason reason{.code = code, .text = error->message};
  if (!error->given.empty()) reason.text += ": asked for " + error->given;
  if (!error->allowed.empty()) reason.text += "; " + error->allowed;
  if (!error->to_do.empty()) reason.text += ". To do: " + error->to_do;
  if (!error->field.empty()) reason.names["field"] = error->field;
  reasons.push_back(std::move(reason));
}

}  // namespace

void explain_admission(const Inquiry& inquiry, Reasons& reasons) {
  const View& view = inquiry.overlay.view();
  add(reasons, ReasonCode::kNeverFits, never_fits(view.index, inquiry.spec()));
  add(reasons, ReasonCode::kLimitExceeded, limit_exceeded(view, inquiry.spec()));
}

}  // namespace moulin
