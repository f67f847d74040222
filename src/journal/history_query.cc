#include "journal/history_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "journal/history_index.h"

namespace moulin {
namespace {

// Walks the postings of one key as ascending sequences after a given one.
class PostingCursor {
 public:
  static Result<std::unique_ptr<PostingCursor>> open(sqlite::Connection& connection, PostingKind kind, int64_t key,
                                                     Sequence after) {
    std::unique_ptr<PostingCursor> cursor(new PostingCursor);
    cursor->statement_ = TRY(connection.prepare(
        "SELECT block, offsets FROM postings WHERE kind=? AND key=? AND block>=? ORDER BY block"));
    cursor->rows_.emplace(cursor->statement_.query(static_cast<int64_t>(kind), key, block_of(after.next())));
    do {
      TRY(cursor->advance());
    } while (cursor->current_ && *cursor->current_ <= after);
    return cursor;
  }

  std::optional<Sequence> current() const { return current_; }

  Status advance() {
    if (at_ >= offsets_.size()) {
      if (!TRY(rows_->next())) {
        current_.reset();
        return {};
      }
      block_ = rows_->integer(0);
      offsets_ = rows_->blob(1);
      at_ = 0;
      if (offsets_.size() < 2 || offsets_.size() % 2 != 0) {
        return broken_record(before_block(block_).next(), "stands in a block with a broken history index");
      }
    }
    const auto low = static_cast<uint8_t>(offsets_[at_]);
    const auto high = static_cast<uint8_t>(offsets_[at_ + 1]);
    current_ = Sequence{before_block(block_).value + 1 + (high << 8 | low)};
    at_ += 2;
    return {};
  }

 private:
  PostingCursor() = default;
  sqlite::Statement statement_;
  std::optional<sqlite::Rows> rows_;
  int64_t block_ = 0;
  std::string_view offsets_;
  size_t at_ = 0;
  std::optional<Sequence> current_;
};

using Cursors = std::vector<std::unique_ptr<PostingCursor>>;

Result<Cursors> open_cursors(sqlite::Connection& connection, const HistoryQuery& query) {
  Cursors cursors;
  if (query.workload) {
    const auto key = static_cast<int64_t>(query.workload->number);
    cursors.push_back(TRY(PostingCursor::open(connection, PostingKind::kWorkload, key, query.after)));
    return cursors;
  }
  for (const int32_t type : query.types) {
    cursors.push_back(TRY(PostingCursor::open(connection, PostingKind::kType, type, query.after)));
  }
  return cursors;
}

// The smallest sequence that any cursor stands on; all cursors on it move on.
Result<std::optional<Sequence>> take_next(Cursors& cursors) {
  std::optional<Sequence> next;
  for (const auto& cursor : cursors) {
    if (cursor->current() && (!next || *cursor->current() < *next)) next = cursor->current();
  }
  for (const auto& cursor : cursors) {
    if (next && cursor->current() == next) TRY(cursor->advance());
  }
  return next;
}

// One run of a query: what it still may return.
struct Run {
  const HistoryQuery& query;
  const RecordVisitor& visit;
  int64_t left;

  Status take(const StoredRecord& record) {
    if (!matches(query, record)) return {};
    --left;
    return visit(record);
  }
};

Status run_postings(sqlite::Connection& connection, Run& run) {
  Cursors cursors = TRY(open_cursors(connection, run.query));
  sqlite::Statement select =
      TRY(connection.prepare(fmt::format("SELECT {} FROM records WHERE sequence=?", kRecordColumns)));
  while (run.left > 0) {
    const std::optional<Sequence> sequence = TRY(take_next(cursors));
    if (!sequence) return {};
    sqlite::Rows rows = select.query(sequence->value);
    if (!TRY(rows.next())) return broken_record(*sequence, "is missing");
    TRY(run.take(record_of(rows)));
  }
  return {};
}

// What SQLite can judge by itself costs a third of what it would here. Numbers only, so
// nothing in the text needs quoting.
std::string condition_of(const HistoryQuery& query) {
  std::string condition;
  if (query.workload) condition += fmt::format(" AND workload={}", static_cast<int64_t>(query.workload->number));
  if (!query.types.empty()) condition += fmt::format(" AND type IN ({})", fmt::join(query.types, ","));
  return condition;
}

Status run_rows(sqlite::Connection& connection, Sequence after, Run& run) {
  sqlite::Statement select = TRY(connection.prepare(fmt::format(
      "SELECT {} FROM records WHERE sequence>?{} ORDER BY sequence", kRecordColumns, condition_of(run.query))));
  sqlite::Rows rows = select.query(after.value);
  while (run.left > 0 && TRY(rows.next())) TRY(run.take(record_of(rows)));
  return {};
}

}  // namespace

Status check_query(const HistoryQuery& query) {
  if (query.limit < 1 || query.limit > kHistoryLimitMax) {
    return Error{.code = Code::kInvalid,
                 .message = "limit is out of range",
                 .field = "limit",
                 .given = std::to_string(query.limit),
                 .allowed = fmt::format("1 to {}", kHistoryLimitMax),
                 .to_do = "ask for less, and for the rest with `after`"};
  }
  if (query.types.size() > kHistoryTypesMax) {
    return Error{.code = Code::kInvalid,
                 .message = "too many event types",
                 .field = "types",
                 .given = std::to_string(query.types.size()),
                 .allowed = fmt::format("at most {}", kHistoryTypesMax),
                 .to_do = "leave the types out and choose among what comes back"};
  }
  if (query.after.value < 0) {
    return Error{.code = Code::kInvalid,
                 .message = "a sequence is never negative",
                 .field = "after",
                 .given = std::to_string(query.after.value),
                 .allowed = "0 or more",
                 .to_do = "start with 0"};
  }
  return {};
}

bool matches(const HistoryQuery& query, const StoredRecord& record) {
  if (query.workload && record.workload != *query.workload) return false;
  return query.types.empty() || std::ranges::find(query.types, record.type) != query.types.end();
}

Status query_history(sqlite::Connection& connection, const HistoryQuery& query, const RecordVisitor& visit) {
  Run run{.query = query, .visit = visit, .left = query.limit};
  const bool everything = !query.workload && query.types.empty();
  if (everything) return run_rows(connection, query.after, run);
  const int64_t full_blocks = TRY(connection.integer("SELECT ifnull(max(block), -1) + 1 FROM blocks"));
  const Sequence indexed = before_block(full_blocks);
  if (query.after < indexed) TRY(run_postings(connection, run));
  return run_rows(connection, std::max(query.after, indexed), run);
}

}  // namespace moulin
