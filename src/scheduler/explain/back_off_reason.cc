// A pause after a failure, and what the engine said of it.
#include <fmt/format.h>

#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"

namespace moulin {

namespace {

// The words of the engine when a replica of the last attempt could not even be started.
const std::string* engine_error(const Workload& workload) {
  if (workload.attempts.empty() || workload.attempts.back().outcome != Outcome::kFailed) return nullptr;
  for (const Replica& replica : workload.attempts.back().replicas) {
    const Exit& exit = replica.exit;
    if (!exit.code && !exit.signal && !exit.vanished && !exit.error.empty()) return &exit.error;
  }
  return nullptr;
}

}  // namespace

void explain_back_off(const Inquiry& inquiry, Reasons& reasons) {
  if (inquiry.workload == nullptr) return;
  const Workload& workload = *inquiry.workload;
  if (workload.eligible_from > inquiry.overlay.now()) {
    Duration left = workload.eligible_from - inquiry.overlay.now();
    reasons.push_back(
        {.code = ReasonCode::kBackOff,
         .text = fmt::format("pauses after attempt {} failed, for another {} (rerun {} of {})", workload.attempt_count,
                             wait_words(left), workload.retries, workload.spec.retry.max),
         .numbers = {{"left_us", left.us}, {"rerun", workload.retries}},
         .names = {}});
  }
}

void explain_engine(const Inquiry& inquiry, Reasons& reasons) {
  if (inquiry.workload == nullptr) return;
  const std::string* error = engine_error(*inquiry.workload);
  if (error == nullptr) return;
  reasons.push_back({.code = ReasonCode::kEngineError,
                     .text = "the last attempt could not be started: " + *error,
                     .numbers = {{"attempt", inquiry.workload->attempt_count}},
                     .names = {}});
}

}  // namespace moulin
