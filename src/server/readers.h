// Threads for reads that take longer than the I/O thread may: what-ifs, history, logs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace moulin {

class Readers {
 public:
  using Task = std::move_only_function<void()>;

  Readers(size_t threads, size_t queue_max);
  ~Readers();  // runs what is queued, then ends
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // Thread-safe. kTooMany: as many as `queue_max` wait; the task was not taken.
  Status run(Task task);

 private:
  void work();

  const size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace moulin
