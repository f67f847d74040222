// A journal in memory whose appends wait for leave, so that a test decides what queues
// behind them. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

#include "journal/memory_journal.h"

namespace moulin::testing {

class GatedJournal final : public Journal {
 public:
  Status append(const std::vector<JournalRecord>& records) override {
    std::unique_lock lock(mutex_);
    ++appends_;
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --held_;
    return inner.append(records);
  }
  Sequence last() const override { return inner.last(); }
  Status replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const override {
    return inner.replay(after, visit);
  }
  Status history(const HistoryQuery& query, const std::function<Status(const StoredRecord&)>& visit) const override {
    return inner.history(query, visit);
  }
  Status save_snapshot(const Snapshot& snapshot) override { return inner.save_snapshot(snapshot); }
  Result<std::optional<Snapshot>> load_snapshot(int32_t format_max) const override {
    return inner.load_snapshot(format_max);
  }
  Result<JournalStats> stats() const override { return inner.stats(); }
  Status probe() override { return inner.probe(); }

  // From now on appends wait.
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Until an append has come since the beginning, whether it waits or not.
  void await_append() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return appends_ > 0; });
  }
  // Until an append waits.
  void await_waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !open_ && held_ > 0; });
  }

  MemoryJournal inner;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int appends_ = 0;  // that have come
  int held_ = 0;     // of these, not yet let in
};

}  // namespace moulin::testing
