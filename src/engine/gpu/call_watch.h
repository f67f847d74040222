// Which call into the driver's library is under way, and since when: the means by which
// another thread notices that the driver hangs.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/instant.h"

namespace moulin {

// One for each thread that calls the library. Thread-safe.
class CallWatch {
 public:
  // `clock` may be called from any thread.
  explicit CallWatch(std::function<Instant()> clock) : clock_(std::move(clock)) {}

  struct Call {
    const char* function = "";  // a literal
    int32_t device = -1;        // index; -1: about no device
    Duration since;             // how long it has been under way
  };

  void enter(const char* function, int32_t device) {
    Instant now = clock_();
    std::lock_guard lock(mutex_);
    function_ = function;
    device_ = device;
    entered_ = now;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    function_ = nullptr;
  }

  // The call under way, when there is one.
  std::optional<Call> under_way() const {
    Instant now = clock_();
    std::lock_guard lock(mutex_);
    if (function_ == nullptr) return std::nullopt;
    return Call{.function = function_, .device = device_, .since = now - entered_};
  }

 private:
  std::function<Instant()> clock_;
  mutable std::mutex mutex_;
  const char* function_ = nullptr;
  int32_t device_ = -1;
  Instant entered_;
};

}  // namespace moulin
