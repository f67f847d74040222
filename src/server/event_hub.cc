#include "server/event_hub.h"

#include <algorithm>

namespace moulin {

void EventHub::publish(const std::vector<NumberedEvent>& events) {
  if (events.empty()) return;
  {
    std::lock_guard lock(mutex_);
    kept_.insert(kept_.end(), events.begin(), events.end());
    if (kept_.size() > kKept)
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(kept_.size() - kKept));
  }
  std::lock_guard lock(listeners_->mutex);
  for (auto& [number, listener] : listeners_->by_number) listener();
}

EventHub::Tail EventHub::after(Sequence sequence, size_t count_max) const {
  std::lock_guard lock(mutex_);
  Tail tail;
  if (kept_.empty()) return {.events = {}, .gap = true};
  tail.gap = sequence.next() < kept_.front().sequence;
  auto first = std::ranges::upper_bound(kept_, sequence, {}, &NumberedEvent::sequence);
  size_t count = std::min(count_max, static_cast<size_t>(kept_.end() - first));
  tail.events.assign(first, first + static_cast<std::ptrdiff_t>(count));
  return tail;
}

std::shared_ptr<void> EventHub::listen(Listener listener) {
  std::lock_guard lock(listeners_->mutex);
  int64_t number = listeners_->next++;
  listeners_->by_number.emplace(number, std::move(listener));
  auto forget = [listeners = listeners_, number](void*) {
    std::lock_guard inner(listeners->mutex);
    listeners->by_number.erase(number);
  };
  return {static_cast<void*>(listeners_.get()), forget};
}

}  // namespace moulin
