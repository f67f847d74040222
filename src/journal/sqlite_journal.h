// The journal of a real server: one SQLite file in WAL mode with synchronous=FULL.
//
// Beside the file `path` lie SQLite's own "-wal" and "-shm", the "-mark" (mark.h) and
// the folder "-snapshots". Only one process may append: whoever opens holds the lock of
// the data folder. docs/journal_format.md has the layout.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "boundary/journal.h"
#include "journal/chain.h"
#include "journal/history_index.h"
#include "journal/mark.h"
#include "journal/read_pool.h"
#include "journal/snapshot_files.h"
#include "journal/sqlite.h"

namespace moulin {

struct JournalOptions {
  // The version of this Moulin, for the message of an older one that meets the file.
  std::string written_by = "development";
  // Told of what was mended or skipped without harm: a broken snapshot. May be called
  // on any thread that uses the journal.
  std::function<void(const std::string&)> warn{};
  // A registered SQLite VFS, for tests that inject faults. Empty: the system's.
  std::string vfs{};
};

// append and probe belong to one thread at a time; everything else may run on any thread
// beside them.
class SqliteJournal final : public Journal {
 public:
  // Opens or creates it. The folder must exist. kRefused: of a newer Moulin, or some
  // other database. kInternal: damaged, or acknowledged records are missing at its end.
  // kUnavailable: the disk or the folder does not let us write.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& path, JournalOptions options);

  // kTooLarge: a record above kRecordBytesMax; nothing was written. After kUnavailable
  // no reader sees any of the records; should the machine crash before the next
  // successful append or probe, they may be found at the next opening, all or none.
  Status append(const std::vector<JournalRecord>& records) override;
  Sequence last() const override { return {last_.load(std::memory_order_acquire)}; }
  Status replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const override;
  Status history(const HistoryQuery& query, const std::function<Status(const StoredRecord&)>& visit) const override;
  Status save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> load_snapshot(int32_t format_max) const override;
  Result<JournalStats> stats() const override;
  // Writes kProbeBytes, so that a disk with room for a byte does not pass for mended.
  Status probe() override;

 private:
  SqliteJournal(std::string path, JournalOptions options, sqlite::Connection writer, const JournalNumber& number);
  Status prepare();
  Status check_mark(const std::optional<Mark>& mark);
  Status write_records(const std::vector<JournalRecord>& records, Chain& chain);
  Result<std::optional<Snapshot>> load_if_good(Sequence sequence, int32_t format_max) const;
  void warn(const std::string& text) const;

  const std::string path_;
  const JournalOptions options_;
  const JournalNumber number_;
  sqlite::Connection writer_;
  sqlite::Statement insert_record_;
  sqlite::Statement insert_probe_;
  std::unique_ptr<HistoryIndex> index_;
  std::unique_ptr<MarkWriter> mark_;
  Chain chain_;                       // of the last record
  std::atomic<int64_t> last_ = 0;
  std::atomic<int64_t> payload_ = 0;  // bytes of all records
  std::mutex snapshot_mutex_;         // one save at a time
  SnapshotFiles snapshots_;
  mutable ReadPool readers_;
};

}  // namespace moulin
