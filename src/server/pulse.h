// Calls something later. For followers of files, which nobody wakes when they grow.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/instant.h"

namespace moulin {

class Pulse {
 public:
  using Task = std::move_only_function<void()>;

  Pulse();
  ~Pulse();  // drops what is not due yet
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // Thread-safe. The task runs once on the pulse's thread and must be quick.
  void after(Duration delay, Task task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<int64_t, Task> tasks_;  // by microseconds of the steady clock
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace moulin
