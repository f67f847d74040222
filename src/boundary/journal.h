// The append-only record of everything that happened, as bytes.
//
// The journal knows nothing of what the records mean beyond the columns that it indexes
// for history queries. Records are numbered from 1 without gaps. Each carries a
// checksum chained over all before it, so that a changed, missing or reordered record
// is found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

// One record to append.
struct JournalRecord {
  Instant time;
  int32_t type = 0;       // EventType as a number; indexed
  WorkloadId workload{};  // 0: about no workload; indexed
  std::string bytes;      // the encoded event, at most kRecordBytesMax
};
inline constexpr Bytes kRecordBytesMax = mebibytes(16);

// One record as read back.
struct StoredRecord {
  Sequence sequence;
  Instant time;
  int32_t type = 0;
  WorkloadId workload{};
  std::string_view bytes;  // valid until the visitor returns
};

// Which records a history query returns: in order of sequence, at most `limit`.
struct HistoryQuery {
  Sequence after{};  // exclusive
  std::optional<WorkloadId> workload{};
  std::vector<int32_t> types{};  // empty: all
  int32_t limit = 1000;          // 1 to 10,000
};

// A state as of a record, so that a restart need not replay everything before it.
struct Snapshot {
  Sequence sequence;
  int32_t format = 0;  // version of `bytes`; a reader skips formats it does not know
  std::string bytes;
};

struct JournalStats {
  Sequence last;
  int64_t records = 0;
  Bytes payload{};   // sum of record bytes
  Bytes on_disk{};   // all files
  int64_t snapshots = 0;
  Sequence newest_snapshot{};
};

// Thread-compatible: one thread appends; reads may run on other threads at the same
// time and see whole batches only.
class Journal {
 public:
  virtual ~Journal() = default;

  // Makes the records durable (fsync) in order, all or none, numbered last() + 1 on.
  // kUnavailable: nothing was written (disk full, read-only, I/O error); the journal is
  // as before and a later call may succeed.
  virtual Status append(const std::vector<JournalRecord>& records) = 0;

  // The newest durable record, 0 when empty.
  virtual Sequence last() const = 0;

  // Calls `visit` for each record after `after` in order, checking the chain.
  // An Error from `visit` ends the walk and is returned. kInternal: a broken record,
  // with its sequence in the message.
  virtual Status replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const = 0;

  // The same by index, without the chain check; for `events`, audit and the portal.
  virtual Status history(const HistoryQuery& query, const std::function<Status(const StoredRecord&)>& visit) const = 0;

  // Stores a snapshot and drops all but the newest three. Safe beside append.
  virtual Status save_snapshot(const Snapshot& snapshot) = 0;

  // The newest snapshot whose checksum is right, whose format is at most `format_max`
  // and whose sequence is at most last(). Nothing when there is none.
  virtual Result<std::optional<Snapshot>> load_snapshot(int32_t format_max) const = 0;

  virtual Result<JournalStats> stats() const = 0;

  // Writes one small durable value and takes it back: can we write again?
  virtual Status probe() = 0;
};

}  // namespace moulin
