// Durable events for whoever listens: the newest ones in memory, and a call when there
// are more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "model/event.h"

namespace moulin {

struct NumberedEvent {
  Sequence sequence;
  Event event;
};

// Thread-safe.
class EventHub {
 public:
  static constexpr size_t kKept = 10'000;

  // In order of sequence, without gaps since the first call.
  void publish(const std::vector<NumberedEvent>& events);

  // The kept events after `sequence`, at most `count_max`. `gap` is set when older ones
  // are wanted than are kept: read the journal's history first.
  struct Tail {
    std::vector<NumberedEvent> events;
    bool gap = false;
  };
  Tail after(Sequence sequence, size_t count_max) const;

  // Calls back on the publisher's thread after each publish; must be quick. Ends with the
  // handle that is returned.
  using Listener = std::function<void()>;
  std::shared_ptr<void> listen(Listener listener);

 private:
  mutable std::mutex mutex_;
  std::deque<NumberedEvent> kept_;
  struct Listeners {
    std::mutex mutex;
    std::map<int64_t, Listener> by_number;
    int64_t next = 0;
  };
  std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();
};

}  // namespace moulin
