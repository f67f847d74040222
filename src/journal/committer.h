// Makes batches durable, several with one fsync when they pile up.
//
// The work is done in turns. start() gives them a thread, the commit thread; a simulation
// calls turn() itself.
//
// The reactor decides a batch, submits it and goes on; `done` tells when it is durable,
// and only then may answers, publications and effects of the batch go out.
//
// When an append fails, the batches behind it build on records that do not exist. So
// that batch and all queued ones are refused in order, with the same error, and submit
// refuses from then on. The owner then, in this order: waits for the `done` of all it
// submitted, rebuilds its state from the journal, and calls resume() from time to time;
// once a probe succeeds, submit accepts again. No batch that was decided before the
// failure can reach the journal after it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "boundary/journal.h"

namespace moulin {

struct CommitterOptions {
  size_t batches_max = 64;               // queued, without those being written
  Bytes bytes_max = mebibytes(64);       // of queued records
  size_t group_records_max = 8192;       // of one fsync; a larger batch goes alone
  Bytes group_bytes_max = mebibytes(8);  // of one fsync; a larger batch goes alone
};

struct CommitterStats {
  int64_t batches = 0;              // durable
  int64_t groups = 0;               // appends that these took
  int64_t refused = 0;              // batches
  size_t queued = 0;                // batches now waiting
  std::optional<Error> refusing{};  // why, while it refuses
};

class Committer {
 public:
  // With the sequence of the batch's last record (for an empty batch: of the last record
  // before it), or the error that nothing of it was written for. Runs on the commit
  // thread, once, in the order of the submits; must not block, and may submit.
  using Done = std::move_only_function<void(const Result<Sequence>&)>;
  using Resumed = std::move_only_function<void(const Status&)>;

  // `journal` must outlive it, and nobody else appends to it or probes it.
  explicit Committer(Journal& journal, const CommitterOptions& options = {});
  // Commits what is queued, calls every outstanding callback, and ends the thread, or
  // takes the turns for that itself when there is none.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // The thread that takes the turns. Once.
  void start();
  // Commits one group, or else makes one probe, and calls back. False: nothing to do. It
  // blocks as long as the disk does. One thread only.
  bool turn();

  // Thread-safe. On an error nothing was queued and `done` will not be called:
  // kTooMany: the queue is full, the disk is slow; kTooLarge: a record is above
  // kRecordBytesMax; the error of the failed append: refusing; kUnavailable: ending.
  // An empty batch is a barrier: done when all before it is durable.
  Status submit(std::vector<JournalRecord> records, Done done);

  // Asks for a probe; `resumed` runs on the commit thread with its outcome. After a
  // success submit accepts, if it refused when resume was called: a failure that comes
  // in between waits for a resume of its own. One at a time.
  void resume(Resumed resumed);

  CommitterStats stats() const;  // thread-safe

 private:
  struct Batch {
    std::vector<JournalRecord> records;
    Done done;
    Bytes size{};
  };

  struct Request {
    Resumed resumed;
    bool while_refusing = false;
  };

  void run();
  void commit(std::deque<Batch> group);
  void refuse_all(std::deque<Batch> group, const Error& error);
  void probe(Request request);
  std::deque<Batch> take_group();

  Journal& journal_;
  const CommitterOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> queue_;
  Bytes queued_bytes_{};
  std::optional<Request> resume_;
  CommitterStats stats_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace moulin
