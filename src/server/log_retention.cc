#include "server/log_retention.h"

#include <algorithm>
#include <chrono>

namespace moulin {

WorkloadNeeds needs_of(const State& state, WorkloadId id) {
  const Workload* workload = state.workload(id);
  if (workload == nullptr || is_finished(workload->state)) return {.needed = Needed::kNothing};
  return {.needed = Needed::kNewest, .newest = {workload->attempt_count}};
}

LogRetention::LogRetention(Reactor& reactor, Clock& clock, std::string data_folder, LogsKept kept,
                           std::function<void(std::string_view)> log)
    : reactor_(reactor), clock_(clock), data_folder_(std::move(data_folder)), kept_(kept), log_(std::move(log)) {
  thread_ = std::thread([this] { run(); });
}

LogRetention::~LogRetention() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool LogRetention::is_stopping() {
  std::lock_guard lock(mutex_);
  return stopping_;
}

void LogRetention::run() {
  Duration tenth{kept_.age.us / 10};
  Duration pause = kept_.age.us == 0 ? kIntervalMax : std::clamp(tenth, seconds(1), kIntervalMax);
  for (;;) {
    remove_old();
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::microseconds(pause.us), [this] { return stopping_; })) return;
  }
}

void LogRetention::remove_old() {
  Result<RemovedAttempts> removed =
      remove_old_attempts({.data_folder = data_folder_,
                           .kept = kept_,
                           .wall_now_us = (clock_.now() + clock_.wall_offset()).us,
                           .needs = [this](WorkloadId id) { return needs_of(reactor_.view()->state, id); },
                           .stop = [this] { return is_stopping(); }});
  if (!removed) log_("old logs could not be removed: " + removed.error().to_text());
}

}  // namespace moulin
