// The reading side of a journal file: one read-only connection with its statements.
//
// A Reader belongs to one thread at a time; ReadPool (read_pool.h) hands them out. It
// sees whole batches only and never blocks the writer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "boundary/journal.h"
#include "journal/chain.h"
#include "journal/sqlite.h"

namespace moulin {

using RecordVisitor = std::function<Status(const StoredRecord&)>;

// Records `after` < sequence <= `through`.
struct SequenceRange {
  Sequence after;
  Sequence through;
};

// The error of a record that is not what was written. `finding` names what is wrong.
Error broken_record(Sequence sequence, std::string_view finding);

// A row of SELECT kRecordColumns; `bytes` is valid until the next row.
inline constexpr std::string_view kRecordColumns = "sequence, time, type, workload, chain, bytes";
StoredRecord record_of(const sqlite::Rows& rows);
Chain chain_of(const sqlite::Rows& rows);

class Reader {
 public:
  static Result<std::unique_ptr<Reader>> open(const sqlite::Location& location, const JournalNumber& number);

  // The chain of a record; that before the first for 0. kInternal: no such record.
  Result<Chain> chain_at(Sequence sequence);

  // Visits every record of the range, each checked against the one before; `chain` is
  // that of range.after and becomes that of range.through. Holds a read lock
  // throughout: keep ranges short.
  Status scan(const SequenceRange& range, Chain& chain, const RecordVisitor& visit);

  // Journal::history. The query was checked.
  Status history(const HistoryQuery& query, const RecordVisitor& visit);

 private:
  Reader(sqlite::Connection connection, const JournalNumber& number)
      : connection_(std::move(connection)), number_(number) {}
  Status prepare();

  sqlite::Connection connection_;
  JournalNumber number_;
  sqlite::Statement select_chain_;
  sqlite::Statement select_range_;
};

}  // namespace moulin
