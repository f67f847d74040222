// Keeps the logs of ended attempts for a time and up to a size, on a thread of its own:
// a disk full of them takes long to look through.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "boundary/clock.h"
#include "engine/local/old_attempts.h"
#include "server/reactor.h"

namespace moulin {

// What of a workload must stay, as of the newest durable state. One that has left the
// memory has finished long ago.
WorkloadNeeds needs_of(const State& state, WorkloadId id);

class LogRetention {
 public:
  // All must outlive it. Begins at once.
  LogRetention(Reactor& reactor, Clock& clock, std::string data_folder, LogsKept kept,
               std::function<void(std::string_view)> log);
  ~LogRetention();
  LogRetention(const LogRetention&) = delete;
  LogRetention& operator=(const LogRetention&) = delete;

  // Between two looks: a tenth of the age, from a second to this.
  static constexpr Duration kIntervalMax = minutes(10);

 private:
  void run();
  void remove_old();
  bool is_stopping();

  Reactor& reactor_;
  Clock& clock_;
  const std::string data_folder_;
  const LogsKept kept_;
  const std::function<void(std::string_view)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace moulin
