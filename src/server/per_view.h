// A value that many readers make from one view: made once, shared, and let go with it.
#pragma once

#include <memory>
#include <mutex>

#include "server/published.h"

namespace moulin {

// Thread-safe. Who asks while it is being made waits for it.
template <class T>
class PerView {
 public:
  template <class Make>
  std::shared_ptr<const T> get(const PublishedView& view, const Make& make) {
    std::lock_guard lock(mutex_);
    if (value_ == nullptr || of_.lock() != view) {
      value_ = std::make_shared<const T>(make(*view));
      of_ = view;
    }
    return value_;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<const Published> of_;
  std::shared_ptr<const T> value_;
};

}  // namespace moulin
