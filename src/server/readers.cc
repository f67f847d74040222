#include "server/readers.h"

namespace moulin {

Readers::Readers(ReadersOptions options) : options_(options) {
  for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
}

Readers::~Readers() { stop(); }

void Readers::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

Status Readers::run(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= options_.queued_max) {
      return Error{.code = Code::kTooMany, .message = "too many questions wait", .to_do = "try again in a second"};
    }
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
  return {};
}

bool Readers::turn() {
  Task task;
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    task = std::move(queue_.front());
    queue_.pop_front();
  }
  task();
  return true;
}

void Readers::work() {
  for (;;) {
    if (turn()) continue;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
  }
}

}  // namespace moulin
