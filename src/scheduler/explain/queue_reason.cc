// Who of its project is served first.
#include <fmt/format.h>

#include <optional>

#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"
#include "scheduler/queue.h"

namespace moulin {

namespace {

struct Ahead {
  int64_t count = 0;
  const Workload* nearest = nullptr;  // that may start now
};

bool may_start(const Inquiry& inquiry, const WaitKey& key) {
  return inquiry.overlay.state().workload(key.id)->eligible_from <= inquiry.overlay.now();
}

// At the top of its class the order of the keys is not the order of service.
Ahead ahead_at_top(const Inquiry& inquiry, const WaitQueue& queue, const WaitKey& key) {
  Ahead ahead;
  Instant now = inquiry.overlay.now();
  std::optional<WaitKey> nearest;
  for (const auto& [other, member] : queue) {
    if (other.id == key.id || !is_served_before(other, key, now)) continue;
    ++ahead.count;
    bool nearer = !nearest || is_served_before(*nearest, other, now);
    if (nearer && may_start(inquiry, other)) nearest = other;
  }
  if (nearest) ahead.nearest = inquiry.overlay.state().workload(nearest->id);
  return ahead;
}

Ahead ahead_of(const Inquiry& inquiry, const WaitKey& key) {
  Ahead ahead;
  const Cow<WaitQueue>* queue = inquiry.overlay.index().waiting().find(inquiry.spec().project);
  if (queue == nullptr) return ahead;
  if (effective_priority(key, inquiry.overlay.now()) == kPriorityTop) return ahead_at_top(inquiry, **queue, key);
  const auto own = (*queue)->lower_bound(key);
  for (auto at = (*queue)->begin(); at != own; ++at) ++ahead.count;
  for (auto at = own; at != (*queue)->begin() && ahead.nearest == nullptr;) {
    --at;
    if (may_start(inquiry, at->first)) ahead.nearest = inquiry.overlay.state().workload(at->first.id);
  }
  return ahead;
}

std::string advantage(const WaitKey& other, const WaitKey& ours, Instant now) {
  if (other.priority_class != ours.priority_class)
    return fmt::format("has class {} (this one {})", to_text(other.priority_class), to_text(ours.priority_class));
  int64_t theirs = effective_priority(other, now);
  int64_t own = effective_priority(ours, now);
  if (theirs != own) return fmt::format("has priority {} with the hours it waited (this one {})", theirs, own);
  if (other.origin != ours.origin) return "is to resume";
  return "was submitted earlier";
}

}  // namespace

WaitKey key_of(const Inquiry& inquiry) {
  if (inquiry.workload != nullptr) return wait_key(*inquiry.workload);
  Workload fresh;
  fresh.id = {UINT64_MAX};
  fresh.spec.priority_class = inquiry.spec().priority_class;
  fresh.spec.priority = inquiry.spec().priority;
  fresh.submitted = inquiry.overlay.now();
  fresh.state_since = inquiry.overlay.now();
  return wait_key(fresh);
}

void explain_queue(const Inquiry& inquiry, Reasons& reasons) {
  WaitKey ours = key_of(inquiry);
  Ahead ahead = ahead_of(inquiry, ours);
  if (ahead.nearest == nullptr) return;
  const Workload& nearest = *ahead.nearest;
  const std::string& project = inquiry.spec().project.text;
  reasons.push_back(
      {.code = ReasonCode::kBehind,
       .text = fmt::format("number {} in the queue of project {}; just before it is {}, which {}", ahead.count + 1,
                           project, workload_words(nearest), advantage(wait_key(nearest), ours, inquiry.overlay.now())),
       .numbers = {{"position", ahead.count + 1}},
       .names = {{"project", project}, {"workload", to_text(nearest.id)}}});
}

}  // namespace moulin
