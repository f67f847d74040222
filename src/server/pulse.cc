#include "server/pulse.h"

#include <chrono>

namespace moulin {

namespace {

using Steady = std::chrono::steady_clock;

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Steady::now().time_since_epoch()).count();
}

}  // namespace

Pulse::Pulse() : thread_([this] { run(); }) {}

Pulse::~Pulse() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Pulse::after(Duration delay, Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.emplace(now_us() + delay.us, std::move(task));
  }
  changed_.notify_all();
}

void Pulse::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (tasks_.empty()) {
      changed_.wait(lock);
    } else if (int64_t wait = tasks_.begin()->first - now_us(); wait > 0) {
      changed_.wait_for(lock, std::chrono::microseconds(wait));
    } else {
      Task task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      lock.unlock();
      task();
      task = nullptr;  // what it holds may call back into us
      lock.lock();
    }
  }
}

}  // namespace moulin
