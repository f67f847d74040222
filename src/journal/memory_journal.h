// A journal in memory, with faults on request: for tests and the simulator.
//
// It keeps the same promises as SqliteJournal and passes the same conformance tests, but
// nothing outlives the object. Deterministic: equal calls give equal answers.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "boundary/journal.h"
#include "journal/chain.h"

namespace moulin {

// Lets `after` writes pass, then fails the next `times`. Appends of at least one record,
// probes and snapshots are writes.
struct WriteFault {
  int64_t after = 0;
  int64_t times = 1;
};

// Thread-safe, but for the promise of Journal that one thread appends.
class MemoryJournal final : public Journal {
 public:
  Status append(const std::vector<JournalRecord>& records) override;
  Sequence last() const override;
  Status replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const override;
  Status history(const HistoryQuery& query, const std::function<Status(const StoredRecord&)>& visit) const override;
  Status save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> load_snapshot(int32_t format_max) const override;
  Result<JournalStats> stats() const override;
  Status probe() override;

  // Faults. One WriteFault at a time; a new one replaces the old.
  void fail_writes(const WriteFault& fault);
  void mend();                       // no more failing writes
  void damage(Sequence sequence);    // changes one bit of a record's bytes
  void cut_after(Sequence sequence); // loses the records after it, as a torn end does
  void damage_snapshot(Sequence sequence);

 private:
  // A record whose bytes stay where they are while readers look at them.
  struct Kept {
    Instant time;
    int32_t type = 0;
    WorkloadId workload{};
    std::shared_ptr<const std::string> bytes;
    Chain chain;
  };
  struct KeptSnapshot {
    Snapshot snapshot;
    Chain record;    // of the record it follows
    Chain checksum;  // of its bytes
  };

  Status take_fault();
  std::optional<Kept> kept(Sequence sequence) const;
  Chain chain_at(Sequence sequence) const;

  mutable std::mutex mutex_;
  std::deque<Kept> records_;
  std::map<Sequence, KeptSnapshot> snapshots_;
  WriteFault fault_{.after = 0, .times = 0};
};

}  // namespace moulin
