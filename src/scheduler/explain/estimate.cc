#include "scheduler/explain/estimate.h"

#include <algorithm>

#include "scheduler/claims.h"
#include "scheduler/explain/words.h"

namespace moulin {

namespace {

struct End {
  Instant at{};
  const Workload* workload = nullptr;
};

// The latest end of each live workload that declared a limit, the grace included.
std::vector<End> declared_ends(const Overlay& overlay) {
  std::vector<End> ends;
  for (const auto& [project, live] : overlay.index().live()) {
    for (const auto& [hold, member] : *live) {
      const Workload& workload = *overlay.state().workload(hold.id);
      const Attempt& attempt = workload.attempts.back();
      if (workload.spec.duration_limit.us == 0 || attempt.running_since == Instant{}) continue;
      Duration left = workload.spec.duration_limit - workload.ran;
      ends.push_back({attempt.running_since + left + workload.spec.grace, &workload});
    }
  }
  std::ranges::sort(ends, {}, [](const End& end) { return std::pair(end.at, end.workload->id); });
  return ends;
}

bool starts_after(const Inquiry& inquiry, const std::vector<End>& ends, size_t count) {
  Overlay& overlay = inquiry.overlay;
  Overlay::Mark mark = overlay.checkpoint();
  for (size_t i = 0; i < count; ++i) {
    const Workload& workload = *ends[i].workload;
    for (const Replica& replica : workload.attempts.back().replicas) {
      if (replica.state == ReplicaState::kExited) continue;
      bool leaves = workload.state == WorkloadState::kStopping || replica.end_asked;
      Account account{overlay.path(workload.spec.project), workload.spec.priority_class,
                      leaves ? Hold::kLeaving : Hold::kHeld};
      overlay.remove(account, replica.placement);
    }
  }
  bool starts = can_start(inquiry);
  overlay.rollback(mark);
  return starts;
}

std::optional<Instant> start_by_limits(const Inquiry& inquiry) {
  std::vector<End> ends = declared_ends(inquiry.overlay);
  if (ends.empty() || !starts_after(inquiry, ends, ends.size())) return std::nullopt;
  size_t low = 0;
  size_t high = ends.size();
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    (starts_after(inquiry, ends, middle) ? high : low) = middle;
  }
  return std::max(ends[high - 1].at, inquiry.overlay.now());
}

}  // namespace

Estimate estimate_start(const Inquiry& inquiry) {
  Instant now = inquiry.overlay.now();
  Instant eligible = inquiry.workload != nullptr ? std::max(inquiry.workload->eligible_from, now) : now;
  if (can_start(inquiry)) return {eligible, eligible > now ? "when its back-off ends" : "in the next pass"};
  if (inquiry.claim != nullptr)
    return {std::max(inquiry.claim->expires - kClaimSpare, now),
            "when those that make way for it have left, at the latest"};
  if (auto start = start_by_limits(inquiry))
    return {std::max(*start, eligible), "when declared duration limits have ended what is in its way, at the latest"};
  return {std::nullopt, "what is in its way declares no duration limit that would free enough"};
}

}  // namespace moulin
