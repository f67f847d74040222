#include "engine/virtual/timed_engine.h"

#include <chrono>
#include <utility>

namespace moulin {

namespace {

// Only differences matter: the steady clock, from its beginning.
Instant now() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant{std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

std::chrono::steady_clock::time_point point_of(Instant at) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(at.us));
}

}  // namespace

TimedEngine::~TimedEngine() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TimedEngine::on_report(std::function<void(EngineReport)> sink) {
  sink_ = std::move(sink);
  thread_ = std::thread([this] { run(); });
}

void TimedEngine::start(ReplicaLaunch launch) {
  {
    std::lock_guard lock(mutex_);
    replicas_.start(now(), launch);
  }
  changed_.notify_all();
}

void TimedEngine::end(ReplicaKey key, std::string token, EndReason reason, Duration) {
  {
    std::lock_guard lock(mutex_);
    replicas_.end(now(), key, token, reason);
  }
  changed_.notify_all();
}

void TimedEngine::release(ReplicaKey key, std::string token) {
  std::lock_guard lock(mutex_);
  replicas_.release(key, token);
}

Held TimedEngine::list() {
  std::lock_guard lock(mutex_);
  return {.replicas = replicas_.list()};
}

void TimedEngine::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<EngineReport> reports = replicas_.take(now());
    if (!reports.empty()) {
      lock.unlock();  // a report may come back as an intent
      for (EngineReport& report : reports) sink_(std::move(report));
      lock.lock();
      continue;
    }
    std::optional<Instant> next = replicas_.next();
    if (next)
      changed_.wait_until(lock, point_of(*next));
    else
      changed_.wait(lock);
  }
}

}  // namespace moulin
