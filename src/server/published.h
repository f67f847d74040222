// What readers see: the state after the last durable batch, never changed again.
#pragma once

#include <memory>
#include <mutex>

#include "scheduler/scheduler.h"

namespace moulin {

struct Published {
  State state;
  Index index;
  View view(Instant now) const { return {state, index, std::max(now, state.now)}; }
};
using PublishedView = std::shared_ptr<const Published>;

// Thread-safe holder of the newest one.
class Publisher {
 public:
  explicit Publisher(PublishedView first) : newest_(std::move(first)) {}
  PublishedView newest() const {
    std::lock_guard lock(mutex_);
    return newest_;
  }
  void publish(PublishedView view) {
    std::lock_guard lock(mutex_);
    newest_ = std::move(view);
  }

 private:
  mutable std::mutex mutex_;
  PublishedView newest_;
};

}  // namespace moulin
