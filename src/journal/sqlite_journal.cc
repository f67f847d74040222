#include "journal/sqlite_journal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "journal/durable_file.h"
#include "journal/history_query.h"
#include "journal/limits.h"
#include "journal/schema.h"

namespace moulin {
namespace {

// A replay holds a read lock for this many records at a time: a long one would keep the
// write-ahead log from being reused.
constexpr int64_t kReplayChunk = 8192;

// More than a usual batch.
constexpr size_t kProbeBytes = 256 * 1024;

Error lost_end(const std::string& path, const Mark& mark, std::string_view finding) {
  return {.message = fmt::format("{}: {}; record {} was acknowledged", path, finding, mark.sequence.value),
          .to_do = fmt::format("put the last good copy of the data folder in its place, or delete {} to go on without "
                               "the lost records",
                               mark_path(path))};
}

}  // namespace

SqliteJournal::SqliteJournal(std::string path, JournalOptions options, sqlite::Connection writer,
                             const JournalNumber& number)
    : path_(std::move(path)),
      options_(std::move(options)),
      number_(number),
      writer_(std::move(writer)),
      snapshots_(path_),
      readers_({.path = path_, .access = sqlite::Access::kReadOnly, .vfs = options_.vfs}, number) {}

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::string& path, JournalOptions options) {
  const std::optional<Mark> mark = TRY(read_mark(path));
  // Before SQLite makes an empty file where the journal used to be.
  if (mark && size_of_file(path) == Bytes{}) return lost_end(path, *mark, "the journal is gone");
  if (!exists(path)) TRY(make_private_file(path));
  sqlite::Connection writer = TRY(sqlite::Connection::open({.path = path, .vfs = options.vfs}));
  const JournalIdentity identity = TRY(prepare_schema(writer, options.written_by));
  std::unique_ptr<SqliteJournal> journal(
      new SqliteJournal(path, std::move(options), std::move(writer), identity.number));
  TRY(journal->prepare());
  TRY(journal->check_mark(mark));
  journal->mark_ = std::make_unique<MarkWriter>(TRY(MarkWriter::open(path)));
  return journal;
}

Status SqliteJournal::prepare() {
  insert_record_ = TRY(writer_.prepare("INSERT INTO records VALUES(?, ?, ?, ?, ?, ?)"));
  insert_probe_ = TRY(writer_.prepare("INSERT INTO probes(bytes) VALUES(?)"));
  index_ = std::make_unique<HistoryIndex>(TRY(HistoryIndex::open(writer_)));
  last_ = index_->last().value;
  payload_ = index_->payload().count;
  ReadPool::Lease reader = TRY(readers_.lease());
  chain_ = TRY(reader->chain_at(last()));
  return {};
}

Status SqliteJournal::check_mark(const std::optional<Mark>& mark) {
  if (!mark) return {};
  if (mark->number != number_) return lost_end(path_, *mark, "the file was replaced by another journal");
  if (mark->sequence > last()) {
    return lost_end(path_, *mark, fmt::format("the journal ends after record {}", last().value));
  }
  ReadPool::Lease reader = TRY(readers_.lease());
  const Chain chain = TRY(reader->chain_at(mark->sequence));
  if (chain == mark->chain) return {};
  return lost_end(path_, *mark, "the file was replaced by one with another history");
}

Status SqliteJournal::append(const std::vector<JournalRecord>& records) {
  if (records.empty()) return {};
  TRY(check_sizes(records));
  Chain chain = chain_;
  const Status written = write_records(records, chain);
  if (!written) {
    index_->rolled_back();
    return written;
  }
  index_->committed();
  chain_ = chain;
  payload_.store(index_->payload().count, std::memory_order_relaxed);
  last_.store(index_->last().value, std::memory_order_release);
  mark_->write({.number = number_, .sequence = last(), .chain = chain_});
  return {};
}

Status SqliteJournal::write_records(const std::vector<JournalRecord>& records, Chain& chain) {
  sqlite::Transaction transaction = TRY(sqlite::Transaction::begin(writer_));
  Sequence sequence = last();
  for (const JournalRecord& record : records) {
    sequence = sequence.next();
    chain = next_chain(chain, {.sequence = sequence,
                               .time = record.time,
                               .type = record.type,
                               .workload = record.workload,
                               .bytes = record.bytes});
    TRY(insert_record_.run(sequence.value, record.time.us, record.type, static_cast<int64_t>(record.workload.number),
                           chain.view(), record.bytes));
    index_->add({.type = record.type,
                 .workload = record.workload,
                 .size = {static_cast<int64_t>(record.bytes.size())}});
  }
  TRY(index_->write_full_blocks());
  return transaction.commit();
}

Status SqliteJournal::replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const {
  const Sequence end = last();
  if (after >= end) return {};
  ReadPool::Lease reader = TRY(readers_.lease());
  Chain chain = TRY(reader->chain_at(after));
  for (Sequence at = after; at < end;) {
    const Sequence through{std::min(at.value + kReplayChunk, end.value)};
    TRY(reader->scan({.after = at, .through = through}, chain, visit));
    at = through;
  }
  return {};
}

Status SqliteJournal::history(const HistoryQuery& query,
                              const std::function<Status(const StoredRecord&)>& visit) const {
  TRY(check_query(query));
  if (query.after >= last()) return {};
  ReadPool::Lease reader = TRY(readers_.lease());
  return reader->history(query, visit);
}

Status SqliteJournal::save_snapshot(const Snapshot& snapshot) {
  MOULIN_CHECK(snapshot.sequence <= last(), "a snapshot is of records that are durable");
  const std::lock_guard lock(snapshot_mutex_);
  // What is ahead of us belongs to a history that was given up; it would take the
  // places of ours.
  for (const Sequence sequence : TRY(snapshots_.list())) {
    if (sequence > last()) TRY(snapshots_.remove(sequence));
  }
  ReadPool::Lease reader = TRY(readers_.lease());
  const Chain chain = TRY(reader->chain_at(snapshot.sequence));
  return snapshots_.save({.number = number_, .chain = chain, .snapshot = snapshot});
}

Result<std::optional<Snapshot>> SqliteJournal::load_snapshot(int32_t format_max) const {
  for (const Sequence sequence : TRY(snapshots_.list())) {
    Result<std::optional<Snapshot>> snapshot = load_if_good(sequence, format_max);
    if (!snapshot) {
      warn(snapshot.error().to_text());
    } else if (*snapshot) {
      return snapshot;
    }
  }
  return std::optional<Snapshot>();
}

Result<std::optional<Snapshot>> SqliteJournal::load_if_good(Sequence sequence, int32_t format_max) const {
  const std::string path = snapshots_.path_of(sequence);
  if (sequence > last()) {
    return Error{.message = fmt::format("snapshot {} is ahead of the journal, which ends after record {}", path,
                                        last().value)};
  }
  PlacedSnapshot placed = TRY(snapshots_.load(sequence));
  if (placed.snapshot.format > format_max) return std::optional<Snapshot>();
  ReadPool::Lease reader = TRY(readers_.lease());
  if (placed.number != number_ || placed.chain != TRY(reader->chain_at(sequence))) {
    return Error{.message = fmt::format("snapshot {} is of another journal", path)};
  }
  return std::optional<Snapshot>(std::move(placed.snapshot));
}

Result<JournalStats> SqliteJournal::stats() const {
  const std::vector<Sequence> snapshots = TRY(snapshots_.list());
  Bytes on_disk = snapshots_.on_disk();
  for (const char* suffix : {"", "-wal", "-shm", "-mark"}) on_disk += size_of_file(path_ + suffix);
  return JournalStats{.last = last(),
                      .records = last().value,
                      .payload = {payload_.load(std::memory_order_relaxed)},
                      .on_disk = on_disk,
                      .snapshots = static_cast<int64_t>(snapshots.size()),
                      .newest_snapshot = snapshots.empty() ? Sequence{} : snapshots.front()};
}

Status SqliteJournal::probe() {
  const std::string bytes(kProbeBytes, 'p');
  {
    sqlite::Transaction write = TRY(sqlite::Transaction::begin(writer_));
    TRY(insert_probe_.run(bytes));
    TRY(write.commit());
  }
  sqlite::Transaction clear = TRY(sqlite::Transaction::begin(writer_));
  TRY(writer_.run("DELETE FROM probes"));
  return clear.commit();
}

void SqliteJournal::warn(const std::string& text) const {
  if (options_.warn) options_.warn(text);
}

}  // namespace moulin
