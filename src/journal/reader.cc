#include "journal/reader.h"

#include <fmt/format.h>

#include "journal/history_query.h"

namespace moulin {

Error broken_record(Sequence sequence, std::string_view finding) {
  return {.message = fmt::format("the journal is broken: record {} {}", sequence.value, finding),
          .to_do = "run `moulin journal verify`, then put the last good copy of the data folder in its place"};
}

StoredRecord record_of(const sqlite::Rows& rows) {
  return {.sequence = {rows.integer(0)},
          .time = {rows.integer(1)},
          .type = static_cast<int32_t>(rows.integer(2)),
          .workload = {static_cast<uint64_t>(rows.integer(3))},
          .bytes = rows.blob(5)};
}

Chain chain_of(const sqlite::Rows& rows) { return {sixteen_bytes(rows.blob(4))}; }

Result<std::unique_ptr<Reader>> Reader::open(const sqlite::Location& location, const JournalNumber& number) {
  std::unique_ptr<Reader> reader(new Reader(TRY(sqlite::Connection::open(location)), number));
  TRY(reader->prepare());
  return reader;
}

Status Reader::prepare() {
  select_chain_ = TRY(connection_.prepare("SELECT chain FROM records WHERE sequence=?"));
  select_range_ = TRY(connection_.prepare(fmt::format(
      "SELECT {} FROM records WHERE sequence>? AND sequence<=? ORDER BY sequence", kRecordColumns)));
  return {};
}

Result<Chain> Reader::chain_at(Sequence sequence) {
  if (sequence.value == 0) return first_chain(number_);
  sqlite::Rows rows = select_chain_.query(sequence.value);
  if (!TRY(rows.next())) return broken_record(sequence, "is missing");
  return Chain{sixteen_bytes(rows.blob(0))};
}

Status Reader::scan(const SequenceRange& range, Chain& chain, const RecordVisitor& visit) {
  sqlite::Rows rows = select_range_.query(range.after.value, range.through.value);
  Sequence expected = range.after.next();
  while (true) {
    const Result<bool> more = rows.next();
    if (!more) return broken_record(expected, "cannot be read: " + more.error().message);
    if (!*more) break;
    const StoredRecord record = record_of(rows);
    if (record.sequence != expected) return broken_record(expected, "is missing");
    chain = next_chain(chain, record);
    if (chain != chain_of(rows)) return broken_record(expected, "is not what was written: its checksum differs");
    TRY(visit(record));
    expected = expected.next();
  }
  if (expected.value <= range.through.value) return broken_record(expected, "is missing");
  return {};
}

Status Reader::history(const HistoryQuery& query, const RecordVisitor& visit) {
  // One read transaction, so that postings and the open block belong together.
  TRY(connection_.run("BEGIN"));
  Status result = query_history(connection_, query, visit);
  connection_.roll_back();
  return result;
}

}  // namespace moulin
