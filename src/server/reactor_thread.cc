// The thread that takes the reactor's turns. Everything that waits is in here.
#include <algorithm>
#include <chrono>

#include "server/reactor.h"

namespace moulin {

namespace {

using Steady = std::chrono::steady_clock;

// A turn looks for what is due at least so often: the clock of the commands goes on while
// the machine sleeps, that of waits does not.
constexpr std::chrono::seconds kIdleWait{1};

Steady::time_point wake_time(const ReactorTurn& turn, Instant now) {
  Steady::time_point wake = Steady::now() + kIdleWait;
  if (!turn.until) return wake;
  std::chrono::microseconds left(std::max<int64_t>((*turn.until - now).us, 0));
  return std::min(wake, Steady::now() + std::chrono::duration_cast<Steady::duration>(left));
}

}  // namespace

void Reactor::start() {
  begin();
  thread_ = std::thread([this] { run(); });
}

void Reactor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed();
  if (thread_.joinable()) thread_.join();
}

void Reactor::run() {
  for (;;) {
    ReactorTurn done = turn();
    if (done.then == ReactorTurn::Then::kOver) return;
    if (done.then == ReactorTurn::Then::kAgain) continue;
    Steady::time_point wake = wake_time(done, world_.clock.now());
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, wake, [&] { return changes_ != done.changes; });
  }
}

void Reactor::changed() {
  {
    std::lock_guard lock(mutex_);
    ++changes_;
  }
  wake_.notify_all();
}

}  // namespace moulin
