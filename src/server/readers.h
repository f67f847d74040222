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

struct ReadersOptions {
  size_t threads = 2;  // 0: whoever owns it takes the turns
  size_t queued_max = 1'000;
};

class Readers {
 public:
  using Task = std::move_only_function<void()>;

  explicit Readers(ReadersOptions options);
  ~Readers();  // stop()
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // Runs what is queued, then ends the threads. Tasks that come later are refused.
  void stop();

  // Thread-safe. kTooMany: as many as `queued_max` wait, or we are stopping; the task was
  // not taken.
  Status run(Task task);

  // Runs one task that waits. False: none does.
  bool turn();

 private:
  void work();

  const ReadersOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace moulin
