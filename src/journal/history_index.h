// The index behind history queries, written a block of records at a time.
//
// An index entry for each record as it comes would triple the pages that a commit
// writes. So records are grouped in blocks of kBlockRecords by their sequence, and when
// a block is full one posting per (workload, block) and per (type, block) is written,
// sorted, inside the transaction that fills it. The records of the open block have no
// postings yet: a query reads them from the records table (docs/adr tells the figures).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/share.h"
#include "journal/sqlite.h"
#include "model/names.h"

namespace moulin {

inline constexpr int64_t kBlockRecords = 16384;

constexpr int64_t block_of(Sequence sequence) { return (sequence.value - 1) / kBlockRecords; }
constexpr Sequence before_block(int64_t block) { return {block * kBlockRecords}; }

// What a posting is about. Part of the file format.
enum class PostingKind : int64_t { kWorkload = 0, kType = 1 };

// The records of one block with one key.
struct Posting {
  PostingKind kind;
  int64_t key = 0;      // a workload's number as a signed integer, or a type
  std::string offsets;  // positions in the block from 0, ascending, two bytes each, low byte first
};

// A record as the index sees it.
struct IndexedFields {
  int32_t type = 0;
  WorkloadId workload{};
  Bytes size{};
};

// The postings of one block, ordered by kind and key. For the index and for `verify`.
std::vector<Posting> postings_of(const IndexedFields* records, int64_t count);

// The writing side. Belongs to the thread that appends.
class HistoryIndex {
 public:
  // Reads the open block. Writes the postings of full blocks that have none, so that
  // dropping the rows of `blocks` and `postings` rebuilds them at the next opening.
  static Result<HistoryIndex> open(sqlite::Connection& connection);

  // Takes the next record in order; then, inside the same transaction, write_full_blocks.
  void add(const IndexedFields& record);
  Status write_full_blocks();

  // How that transaction ended.
  void committed();
  void rolled_back();

  // Of all committed records.
  Sequence last() const { return {before_block(block_).value + static_cast<int64_t>(committed_count_)}; }
  Bytes payload() const { return committed_payload_; }

 private:
  HistoryIndex() = default;
  Status catch_up(sqlite::Connection& connection);
  Result<int64_t> add_following(sqlite::Rows rows);
  Status write_block(const IndexedFields* records);

  sqlite::Statement insert_posting_;
  sqlite::Statement insert_block_;
  int64_t block_ = 0;                  // the open block, as committed
  std::vector<IndexedFields> open_{};  // its records, and those of the running transaction
  size_t committed_count_ = 0;         // how many of open_ are committed
  size_t written_ = 0;                 // how many of open_ have postings in the running transaction
  Bytes before_open_{};                // payload before the first of open_
  Bytes committed_payload_{};
};

}  // namespace moulin
