#include "journal/memory_journal.h"

#include <fmt/format.h>

#include "base/check.h"
#include "journal/history_query.h"
#include "journal/limits.h"
#include "journal/reader.h"
#include "journal/snapshot_files.h"

namespace moulin {
namespace {

StoredRecord stored(Sequence sequence, const JournalRecord& record) {
  return {.sequence = sequence,
          .time = record.time,
          .type = record.type,
          .workload = record.workload,
          .bytes = record.bytes};
}

}  // namespace

Status MemoryJournal::append(const std::vector<JournalRecord>& records) {
  if (records.empty()) return {};
  TRY(check_sizes(records));
  const std::lock_guard lock(mutex_);
  TRY(take_fault());
  for (const JournalRecord& record : records) {
    const Sequence sequence{static_cast<int64_t>(records_.size()) + 1};
    const Chain chain = next_chain(chain_at({sequence.value - 1}), stored(sequence, record));
    records_.push_back({.time = record.time,
                        .type = record.type,
                        .workload = record.workload,
                        .bytes = std::make_shared<const std::string>(record.bytes),
                        .chain = chain});
  }
  return {};
}

Sequence MemoryJournal::last() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int64_t>(records_.size())};
}

Status MemoryJournal::replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const {
  const Sequence end = last();
  if (after >= end) return {};
  Chain chain;
  {
    const std::lock_guard lock(mutex_);
    chain = chain_at(after);
  }
  for (Sequence at = after.next(); at <= end; at = at.next()) {
    // The visitor runs without the lock: it may append or read.
    const std::optional<Kept> record = kept(at);
    if (!record) return broken_record(at, "is missing");
    const StoredRecord seen{.sequence = at,
                            .time = record->time,
                            .type = record->type,
                            .workload = record->workload,
                            .bytes = *record->bytes};
    chain = next_chain(chain, seen);
    if (chain != record->chain) return broken_record(at, "is not what was written: its checksum differs");
    TRY(visit(seen));
  }
  return {};
}

Status MemoryJournal::history(const HistoryQuery& query,
                              const std::function<Status(const StoredRecord&)>& visit) const {
  TRY(check_query(query));
  const Sequence end = last();
  int64_t left = query.limit;
  for (Sequence at = query.after; at < end && left > 0;) {
    at = at.next();
    const std::optional<Kept> record = kept(at);
    if (!record) return broken_record(at, "is missing");
    const StoredRecord seen{.sequence = at,
                            .time = record->time,
                            .type = record->type,
                            .workload = record->workload,
                            .bytes = *record->bytes};
    if (!matches(query, seen)) continue;
    --left;
    TRY(visit(seen));
  }
  return {};
}

Status MemoryJournal::save_snapshot(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  MOULIN_CHECK(snapshot.sequence.value <= static_cast<int64_t>(records_.size()),
               "a snapshot is of records that are durable");
  TRY(take_fault());
  while (!snapshots_.empty() && std::prev(snapshots_.end())->first.value > static_cast<int64_t>(records_.size())) {
    snapshots_.erase(std::prev(snapshots_.end()));
  }
  snapshots_[snapshot.sequence] = {
      .snapshot = snapshot, .record = chain_at(snapshot.sequence), .checksum = checksum_of(snapshot.bytes)};
  while (snapshots_.size() > kSnapshotsKept) snapshots_.erase(snapshots_.begin());
  return {};
}

Result<std::optional<Snapshot>> MemoryJournal::load_snapshot(int32_t format_max) const {
  const std::lock_guard lock(mutex_);
  for (auto entry = snapshots_.rbegin(); entry != snapshots_.rend(); ++entry) {
    const KeptSnapshot& kept = entry->second;
    if (entry->first.value > static_cast<int64_t>(records_.size())) continue;
    if (kept.snapshot.format > format_max || kept.record != chain_at(entry->first)) continue;
    if (kept.checksum == checksum_of(kept.snapshot.bytes)) return std::optional<Snapshot>(kept.snapshot);
  }
  return std::optional<Snapshot>();
}

Result<JournalStats> MemoryJournal::stats() const {
  const std::lock_guard lock(mutex_);
  JournalStats stats;
  stats.records = static_cast<int64_t>(records_.size());
  stats.last = {stats.records};
  for (const Kept& record : records_) stats.payload += Bytes{static_cast<int64_t>(record.bytes->size())};
  stats.snapshots = static_cast<int64_t>(snapshots_.size());
  if (!snapshots_.empty()) stats.newest_snapshot = snapshots_.rbegin()->first;
  return stats;
}

Status MemoryJournal::probe() {
  const std::lock_guard lock(mutex_);
  return take_fault();
}

void MemoryJournal::fail_writes(const WriteFault& fault) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
}

void MemoryJournal::mend() { fail_writes({.after = 0, .times = 0}); }

void MemoryJournal::damage(Sequence sequence) {
  const std::lock_guard lock(mutex_);
  Kept& record = records_.at(static_cast<size_t>(sequence.value - 1));
  std::string bytes = *record.bytes;
  MOULIN_CHECK(!bytes.empty(), "there is a bit to change");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  record.bytes = std::make_shared<const std::string>(std::move(bytes));
}

void MemoryJournal::cut_after(Sequence sequence) {
  const std::lock_guard lock(mutex_);
  MOULIN_CHECK(sequence.value <= static_cast<int64_t>(records_.size()), "there is something to cut");
  records_.resize(static_cast<size_t>(sequence.value));
}

void MemoryJournal::damage_snapshot(Sequence sequence) {
  const std::lock_guard lock(mutex_);
  std::string& bytes = snapshots_.at(sequence).snapshot.bytes;
  MOULIN_CHECK(!bytes.empty(), "there is a bit to change");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
}

Status MemoryJournal::take_fault() {
  if (fault_.times == 0) return {};
  if (fault_.after > 0) {
    --fault_.after;
    return {};
  }
  --fault_.times;
  return Error{.code = Code::kUnavailable,
               .message = "the disk of the journal is full",
               .to_do = "free space on this disk; writes resume by themselves"};
}

std::optional<MemoryJournal::Kept> MemoryJournal::kept(Sequence sequence) const {
  const std::lock_guard lock(mutex_);
  if (sequence.value < 1 || sequence.value > static_cast<int64_t>(records_.size())) return std::nullopt;
  return records_[static_cast<size_t>(sequence.value - 1)];
}

Chain MemoryJournal::chain_at(Sequence sequence) const {
  if (sequence.value == 0) return first_chain({});
  return records_[static_cast<size_t>(sequence.value - 1)].chain;
}

}  // namespace moulin
