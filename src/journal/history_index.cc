#include "journal/history_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace moulin {
namespace {

constexpr size_t kBlock = static_cast<size_t>(kBlockRecords);

struct Entry {
  int64_t key;
  uint16_t offset;
  auto operator<=>(const Entry&) const = default;
};

// Appends one posting for each key, in order of key.
void gather(std::vector<Entry> entries, PostingKind kind, std::vector<Posting>& postings) {
  std::ranges::sort(entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].key != entries[i - 1].key) {
      postings.push_back({.kind = kind, .key = entries[i].key, .offsets = {}});
    }
    std::string& offsets = postings.back().offsets;
    offsets.push_back(static_cast<char>(entries[i].offset & 0xff));
    offsets.push_back(static_cast<char>(entries[i].offset >> 8));
  }
}

Bytes payload_of(const IndexedFields* records, size_t count) {
  Bytes sum{};
  for (size_t i = 0; i < count; ++i) sum += records[i].size;
  return sum;
}

}  // namespace

std::vector<Posting> postings_of(const IndexedFields* records, int64_t count) {
  MOULIN_CHECK(count <= kBlockRecords, "a block has no more");
  std::vector<Entry> workloads;
  std::vector<Entry> types;
  workloads.reserve(static_cast<size_t>(count));
  types.reserve(static_cast<size_t>(count));
  for (int64_t at = 0; at < count; ++at) {
    const IndexedFields& record = records[at];
    const auto offset = static_cast<uint16_t>(at);
    if (record.workload) workloads.push_back({static_cast<int64_t>(record.workload.number), offset});
    types.push_back({record.type, offset});
  }
  std::vector<Posting> postings;
  gather(std::move(workloads), PostingKind::kWorkload, postings);
  gather(std::move(types), PostingKind::kType, postings);
  return postings;
}

Result<HistoryIndex> HistoryIndex::open(sqlite::Connection& connection) {
  HistoryIndex index;
  index.insert_posting_ = TRY(connection.prepare("INSERT OR REPLACE INTO postings VALUES(?, ?, ?, ?)"));
  index.insert_block_ = TRY(connection.prepare("INSERT OR REPLACE INTO blocks VALUES(?, ?)"));
  index.block_ = TRY(connection.integer("SELECT ifnull(max(block), -1) + 1 FROM blocks"));
  if (index.block_ > 0) {
    index.before_open_ = {TRY(connection.integer("SELECT payload FROM blocks ORDER BY block DESC LIMIT 1"))};
  }
  index.committed_payload_ = index.before_open_;
  TRY(index.catch_up(connection));
  return index;
}

Status HistoryIndex::catch_up(sqlite::Connection& connection) {
  sqlite::Statement select = TRY(connection.prepare(
      "SELECT sequence, type, workload, length(bytes) FROM records WHERE sequence>? ORDER BY sequence LIMIT 65536"));
  // Each round takes at least one record, so this ends at the end of the journal.
  while (TRY(add_following(select.query(last().value))) > 0) {
    if (open_.size() >= kBlock) {
      sqlite::Transaction transaction = TRY(sqlite::Transaction::begin(connection));
      TRY(write_full_blocks());
      TRY(transaction.commit());
    }
    committed();
  }
  return {};
}

Result<int64_t> HistoryIndex::add_following(sqlite::Rows rows) {
  int64_t count = 0;
  while (TRY(rows.next())) {
    const Sequence expected{last().value + count + 1};
    if (rows.integer(0) != expected.value) {
      return Error{.message = fmt::format("the journal is broken: record {} is missing", expected.value),
                   .to_do = "run `moulin journal verify`, then put the last good copy of the data folder in its place"};
    }
    add({.type = static_cast<int32_t>(rows.integer(1)),
         .workload = {static_cast<uint64_t>(rows.integer(2))},
         .size = {rows.integer(3)}});
    ++count;
  }
  return count;
}

void HistoryIndex::add(const IndexedFields& record) { open_.push_back(record); }

Status HistoryIndex::write_full_blocks() {
  while (open_.size() - written_ >= kBlock) {
    TRY(write_block(open_.data() + written_));
    written_ += kBlock;
  }
  return {};
}

Status HistoryIndex::write_block(const IndexedFields* records) {
  const int64_t block = block_ + static_cast<int64_t>(written_ / kBlock);
  for (const Posting& posting : postings_of(records, kBlockRecords)) {
    TRY(insert_posting_.run(static_cast<int64_t>(posting.kind), posting.key, block, posting.offsets));
  }
  const Bytes before = before_open_ + payload_of(open_.data(), written_);
  return insert_block_.run(block, (before + payload_of(records, kBlock)).count);
}

void HistoryIndex::committed() {
  committed_payload_ += payload_of(open_.data() + committed_count_, open_.size() - committed_count_);
  before_open_ += payload_of(open_.data(), written_);
  block_ += static_cast<int64_t>(written_ / kBlock);
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(written_));
  written_ = 0;
  committed_count_ = open_.size();
}

void HistoryIndex::rolled_back() {
  open_.resize(committed_count_);
  written_ = 0;
}

}  // namespace moulin
