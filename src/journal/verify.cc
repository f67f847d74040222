#include "journal/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "journal/durable_file.h"
#include "journal/history_index.h"
#include "journal/mark.h"
#include "journal/reader.h"
#include "journal/schema.h"
#include "journal/snapshot_files.h"

namespace moulin {
namespace {

class Verifier {
 public:
  Verifier(const std::string& path, sqlite::Connection& connection, JournalIdentity identity)
      : path_(path), connection_(connection), identity_(std::move(identity)) {}

  VerifyReport run() {
    report_.format = identity_.format;
    report_.written_by = identity_.written_by;
    note(check_pages());
    note(check_records());
    note(check_mark());
    note(check_snapshots());
    return std::move(report_);
  }

 private:
  void problem(std::string text) {
    std::vector<std::string>& problems = report_.problems;
    if (problems.size() < kProblemsMax) problems.push_back(std::move(text));
    if (problems.size() == kProblemsMax) problems.push_back("there may be more: only the first are told");
  }
  // A check that could not go on is a finding too.
  void note(const Status& status) {
    if (!status) problem(status.error().message);
  }

  Status check_pages();
  Status check_records();
  void check_record(const sqlite::Rows& rows);
  Status check_block();
  Status check_posting_count();
  Status check_mark();
  Status check_snapshots();
  // What keeps a sound snapshot from being of use; empty: nothing.
  Result<std::string> misplacement_of(const PlacedSnapshot& placed);
  Result<Chain> chain_at(Sequence sequence);

  const std::string& path_;
  sqlite::Connection& connection_;
  const JournalIdentity identity_;
  VerifyReport report_;
  Chain chain_;                       // of the last record read
  std::vector<IndexedFields> block_;  // records of the block being read
  int64_t full_blocks_ = 0;           // that should have postings; 0 once that cannot be told
  int64_t postings_ = 0;              // that full blocks should have so far
  sqlite::Statement select_posting_;
};

Status Verifier::check_pages() {
  sqlite::Statement check = TRY(connection_.prepare("PRAGMA quick_check(10)"));
  sqlite::Rows rows = check.query();
  while (TRY(rows.next())) {
    if (rows.blob(0) != "ok") problem(fmt::format("the file's structure is broken: {}", rows.blob(0)));
  }
  return {};
}

Status Verifier::check_records() {
  full_blocks_ = TRY(connection_.integer("SELECT ifnull(max(block), -1) + 1 FROM blocks"));
  sqlite::Statement select =
      TRY(connection_.prepare(fmt::format("SELECT {} FROM records ORDER BY sequence", kRecordColumns)));
  select_posting_ = TRY(connection_.prepare("SELECT offsets FROM postings WHERE kind=? AND key=? AND block=?"));
  sqlite::Rows rows = select.query();
  chain_ = first_chain(identity_.number);
  while (true) {
    const Result<bool> more = rows.next();
    if (!more) return broken_record(report_.last.next(), "cannot be read: " + more.error().message);
    if (!*more) return check_posting_count();
    check_record(rows);
    if (static_cast<int64_t>(block_.size()) == kBlockRecords) TRY(check_block());
  }
}

void Verifier::check_record(const sqlite::Rows& rows) {
  const StoredRecord record = record_of(rows);
  const Sequence expected = report_.last.next();
  if (record.sequence != expected) {
    const std::string finding = fmt::format("is missing; the next one there is {}", record.sequence.value);
    problem(broken_record(expected, finding).message);
    // The index of this block cannot be told any more, and the chain starts anew.
    block_.clear();
    full_blocks_ = 0;
  } else if (next_chain(chain_, record) != chain_of(rows)) {
    problem(broken_record(expected, "is not what was written: its checksum differs").message);
  }
  chain_ = chain_of(rows);
  report_.last = record.sequence;
  ++report_.records;
  ++report_.by_type[record.type];
  const Bytes size{static_cast<int64_t>(record.bytes.size())};
  report_.payload += size;
  block_.push_back({.type = record.type, .workload = record.workload, .size = size});
}

Status Verifier::check_block() {
  const int64_t block = block_of(report_.last);
  const std::vector<Posting> expected = postings_of(block_.data(), kBlockRecords);
  block_.clear();
  if (block >= full_blocks_) return {};
  postings_ += static_cast<int64_t>(expected.size());
  for (const Posting& posting : expected) {
    sqlite::Rows rows = select_posting_.query(static_cast<int64_t>(posting.kind), posting.key, block);
    if (TRY(rows.next()) && rows.blob(0) == posting.offsets) continue;
    problem(fmt::format("the history index of records {} to {} is wrong", before_block(block).next().value,
                        before_block(block + 1).value));
    return {};
  }
  return {};
}

// With every expected posting found, an equal count means that there are no others.
Status Verifier::check_posting_count() {
  const int64_t found = TRY(connection_.integer("SELECT count(*) FROM postings"));
  if (full_blocks_ > 0 && found != postings_) {
    problem(fmt::format("the history index has {} postings, and should have {}", found, postings_));
  }
  return {};
}

Status Verifier::check_mark() {
  const std::optional<Mark> mark = TRY(read_mark(path_));
  if (!mark) return {};
  if (mark->number != identity_.number) {
    problem(fmt::format("{} belongs to another journal", mark_path(path_)));
  } else if (mark->sequence > report_.last) {
    problem(fmt::format("the end is lost: record {} was acknowledged, and the journal ends after record {}",
                        mark->sequence.value, report_.last.value));
  } else if (TRY(chain_at(mark->sequence)) != mark->chain) {
    problem(fmt::format("record {} is not the one that was acknowledged", mark->sequence.value));
  }
  return {};
}

Status Verifier::check_snapshots() {
  const SnapshotFiles files(path_);
  for (const Sequence sequence : TRY(files.list())) {
    SnapshotFinding finding;
    finding.sequence = sequence;
    const Result<PlacedSnapshot> placed = files.load(sequence);
    if (!placed) {
      finding.problem = placed.error().message;
    } else {
      finding.format = placed->snapshot.format;
      finding.problem = TRY(misplacement_of(*placed));
    }
    report_.snapshots.push_back(std::move(finding));
  }
  return {};
}

Result<std::string> Verifier::misplacement_of(const PlacedSnapshot& placed) {
  if (placed.number != identity_.number) return std::string("it belongs to another journal");
  if (placed.snapshot.sequence > report_.last) return std::string("it is ahead of the journal");
  const Chain chain = TRY(chain_at(placed.snapshot.sequence));
  return std::string(chain == placed.chain ? "" : "it belongs to another history of this journal");
}

Result<Chain> Verifier::chain_at(Sequence sequence) {
  if (sequence.value == 0) return first_chain(identity_.number);
  sqlite::Statement select = TRY(connection_.prepare("SELECT chain FROM records WHERE sequence=?"));
  sqlite::Rows rows = select.query(sequence.value);
  if (!TRY(rows.next())) return broken_record(sequence, "is missing");
  return Chain{sixteen_bytes(rows.blob(0))};
}

}  // namespace

Result<VerifyReport> verify_journal(const std::string& path) {
  if (!exists(path)) {
    return Error{.code = Code::kNotFound,
                 .message = fmt::format("there is no journal at {}", path),
                 .to_do = "check the path of the data folder"};
  }
  sqlite::Connection connection =
      TRY(sqlite::Connection::open({.path = path, .access = sqlite::Access::kReadOnly}));
  // One read transaction: appends of a running server stay out of sight.
  TRY(connection.run("BEGIN"));
  const JournalIdentity identity = TRY(read_identity(connection));
  return Verifier(path, connection, identity).run();
}

}  // namespace moulin
