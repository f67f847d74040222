// Files that were changed or cut behind our back: found, told where, never taken for whole.
#include <algorithm>
#include <fstream>

#include "journal/durable_file.h"
#include "journal/sqlite_journal.h"
#include "journal/testing.h"
#include "journal/verify.h"

namespace moulin::testing {
namespace {

std::string content_of(const std::string& path) {
  Result<std::string> content = read_file(path, mebibytes(64));
  REQUIRE_OK(content);
  return std::move(*content);
}

void put_content(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::vector<JournalRecord> numbered_records(int64_t count) {
  std::vector<JournalRecord> records;
  for (int64_t i = 1; i <= count; ++i) {
    records.push_back({.time = {i},
                       .type = static_cast<int32_t>(i % 5),
                       .workload = {static_cast<uint64_t>(i % 7)},
                       .bytes = fmt::format("<record {}>{}", i, std::string(static_cast<size_t>(i % 300), '.'))});
  }
  return records;
}

// A closed journal: all in the one file.
std::string make_file(const TemporaryFolder& folder, const std::vector<JournalRecord>& records) {
  const std::string path = folder / "journal.db";
  const auto journal = SqliteJournal::open(path, {});
  REQUIRE_OK(journal);
  REQUIRE_OK((*journal)->append(records));
  return path;
}

void run_sql(const std::string& path, const std::string& sql) {
  auto connection = sqlite::Connection::open({.path = path});
  REQUIRE_OK(connection);
  REQUIRE_OK(connection->run(sql.c_str()));
}

// What a start of the server does: open, then replay everything.
Result<std::vector<ReadRecord>> read_all(const std::string& path) {
  const std::unique_ptr<SqliteJournal> journal = TRY(SqliteJournal::open(path, {}));
  return replayed(*journal);
}

bool equal(const std::vector<ReadRecord>& found, const std::vector<JournalRecord>& expected) {
  return std::ranges::equal(found, expected,
                            [](const ReadRecord& a, const JournalRecord& b) { return same(a.record, b); });
}

VerifyReport verified(const std::string& path) {
  Result<VerifyReport> report = verify_journal(path);
  REQUIRE_OK(report);
  return std::move(*report);
}

bool mentions(const std::vector<std::string>& problems, const std::string& words) {
  return std::ranges::any_of(problems, [&](const std::string& problem) { return problem.contains(words); });
}

}  // namespace

TEST_CASE("a sound journal verifies, with what it holds") {
  const TemporaryFolder folder;
  const auto records = numbered_records(kBlockRecords + 100);
  const std::string path = make_file(folder, records);
  const VerifyReport report = verified(path);
  CHECK(report.good());
  CHECK(report.records == kBlockRecords + 100);
  CHECK(report.last.value == kBlockRecords + 100);
  CHECK(report.format == 1);
  CHECK(report.written_by == "development");
  const auto missing = verify_journal(folder / "missing.db");
  REQUIRE(!missing);
  CHECK(missing.error().code == Code::kNotFound);
}

TEST_CASE("a changed byte in any record is found and told by sequence") {
  const TemporaryFolder folder;
  const auto records = numbered_records(60);
  const std::string path = make_file(folder, records);
  const std::string sound = content_of(path);
  for (int64_t i = 1; i <= 60; ++i) {
    std::string broken = sound;
    const size_t at = broken.find(fmt::format("<record {}>", i));
    REQUIRE(at != std::string::npos);
    broken[at + 3] = static_cast<char>(broken[at + 3] ^ 0x20);
    put_content(path, broken);
    const auto found = read_all(path);
    REQUIRE(!found);
    CHECK(found.error().code == Code::kInternal);
    CHECK(found.error().message.contains(fmt::format("record {} ", i)));
    CHECK(found.error().to_do.contains("moulin journal verify"));
    const VerifyReport report = verified(path);
    CHECK(report.problems.size() == 1);
    CHECK(mentions(report.problems, fmt::format("record {} ", i)));
    CHECK(report.records == 60);
  }
}

TEST_CASE("a changed column, a missing record and swapped records are found") {
  const auto records = numbered_records(100);
  const std::pair<const char*, const char*> damages[] = {
      {"UPDATE records SET time=time+1 WHERE sequence=50", "record 50 is not what was written"},
      {"UPDATE records SET type=9 WHERE sequence=50", "record 50 is not what was written"},
      {"UPDATE records SET workload=9 WHERE sequence=50", "record 50 is not what was written"},
      {"UPDATE records SET chain=zeroblob(16) WHERE sequence=50", "record 50 is not what was written"},
      {"UPDATE records SET chain='' WHERE sequence=50", "record 50 is not what was written"},
      {"DELETE FROM records WHERE sequence=50", "record 50 is missing"},
      {"DELETE FROM records WHERE sequence<=50", "record 1 is missing"},
      {"UPDATE records SET sequence=1000 WHERE sequence=50; UPDATE records SET sequence=50 WHERE sequence=51;"
       "UPDATE records SET sequence=51 WHERE sequence=1000", "record 50 is not what was written"},
  };
  for (const auto& [sql, finding] : damages) {
    const TemporaryFolder folder;
    const std::string path = make_file(folder, records);
    run_sql(path, sql);
    const auto found = read_all(path);
    REQUIRE(!found);
    CHECK(found.error().message.contains(finding));
    CHECK(mentions(verified(path).problems, finding));
  }
}

TEST_CASE("replay after a record checks the chain from there on") {
  const TemporaryFolder folder;
  const std::string path = make_file(folder, numbered_records(100));
  run_sql(path, "UPDATE records SET time=0 WHERE sequence=50");
  const auto journal = SqliteJournal::open(path, {});
  REQUIRE_OK(journal);
  REQUIRE_OK(replayed(**journal, {50}));
  CHECK(!replayed(**journal, {49}));
}

TEST_CASE("a byte changed anywhere in the file never makes another history") {
  const TemporaryFolder folder;
  const auto records = numbered_records(400);
  const std::string path = make_file(folder, records);
  const std::string sound = content_of(path);
  Rng rng(1);
  int64_t found_broken = 0;
  for (int round = 0; round < 400; ++round) {
    std::string broken = sound;
    char& byte = broken[static_cast<size_t>(rng.below(std::ssize(broken)))];
    byte = static_cast<char>(byte ^ (1 << rng.below(8)));
    put_content(path, broken);
    const auto found = read_all(path);
    if (!found) ++found_broken;
    else REQUIRE(equal(*found, records));  // a byte that means nothing to us
  }
  CHECK(found_broken > 200);
}

TEST_CASE("a file cut at any length never makes another history") {
  const TemporaryFolder folder;
  const auto records = numbered_records(200);
  const std::string path = make_file(folder, records);
  const std::string sound = content_of(path);
  for (size_t size = 0; size < sound.size(); size += 509) {
    put_content(path, sound.substr(0, size));
    INFO("cut at " << size << " of " << sound.size());
    const auto found = read_all(path);
    CHECK(!found);
    if (!found) CHECK(!found.error().to_do.empty());
  }
}

TEST_CASE("a write-ahead log cut at any length leaves whole batches, and the mark tells what is lost") {
  const TemporaryFolder folder;
  const TemporaryFolder cut;
  constexpr int64_t kBatch = 10;
  const auto records = numbered_records(8 * kBatch);
  const auto journal = SqliteJournal::open(folder / "journal.db", {});
  REQUIRE_OK(journal);
  for (auto at = records.begin(); at != records.end(); at += kBatch) {
    REQUIRE_OK((*journal)->append(std::vector(at, at + kBatch)));
  }
  const std::string file = content_of(folder / "journal.db");
  const std::string log = content_of(folder / "journal.db-wal");
  const std::string mark = content_of(folder / "journal.db-mark");
  REQUIRE(log.size() > 40'000);
  const auto lay_out = [&](size_t size) {
    std::filesystem::remove(cut / "journal.db-shm");
    std::filesystem::remove(cut / "journal.db-mark");
    put_content(cut / "journal.db", file);
    put_content(cut / "journal.db-wal", log.substr(0, size));
  };
  size_t longest = 0;
  for (size_t size = 0; size <= log.size(); size += std::min<size_t>(997, std::max<size_t>(log.size() - size, 1))) {
    // Too short a log is no journal at all: the tables themselves are in it.
    lay_out(size);
    const auto found = read_all(cut / "journal.db");
    REQUIRE_OK(found);
    CHECK(found->size() % kBatch == 0);
    CHECK(found->size() >= longest);
    longest = found->size();
    CHECK(equal(*found, std::vector(records.begin(), records.begin() + std::ssize(*found))));

    lay_out(size);
    put_content(cut / "journal.db-mark", mark);
    const auto marked = read_all(cut / "journal.db");
    CHECK(marked.has_value() == (longest == records.size()));
    if (!marked) CHECK(marked.error().message.contains("record 80 was acknowledged"));
  }
  CHECK(longest == records.size());
}

TEST_CASE("an acknowledged end that is gone is noticed, and can be given up") {
  const TemporaryFolder folder;
  const TemporaryFolder copy;
  const std::string path = folder / "journal.db";
  {
    const auto journal = SqliteJournal::open(path, {});
    REQUIRE_OK(journal);
    REQUIRE_OK((*journal)->append(numbered_records(10)));
  }
  const std::string older = content_of(path);
  {
    const auto journal = SqliteJournal::open(path, {});
    REQUIRE_OK(journal);
    REQUIRE_OK((*journal)->append(numbered_records(5)));
  }
  put_content(path, older);
  const auto refused = SqliteJournal::open(path, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.contains("ends after record 10; record 15 was acknowledged"));
  CHECK(refused.error().to_do.contains("journal.db-mark"));
  CHECK(mentions(verified(path).problems, "record 15 was acknowledged"));
  std::filesystem::remove(path + "-mark");
  const auto accepted = SqliteJournal::open(path, {});
  REQUIRE_OK(accepted);
  CHECK((*accepted)->last().value == 10);
  CHECK(verified(path).good());
}

TEST_CASE("another journal in the place of ours is noticed") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const std::string path = make_file(folder, numbered_records(3));
  put_content(path, content_of(make_file(other, numbered_records(20))));
  const auto refused = SqliteJournal::open(path, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.contains("replaced by another journal"));
  CHECK(mentions(verified(path).problems, "belongs to another journal"));
  std::filesystem::remove(path);
  const auto gone = SqliteJournal::open(path, {});
  REQUIRE(!gone);
  CHECK(gone.error().message.contains("the journal is gone; record 3 was acknowledged"));
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("a history that parted from ours is noticed") {
  const TemporaryFolder folder;
  const std::string path = make_file(folder, numbered_records(10));
  const std::string common = content_of(path);
  const auto append_records = [&](char fill) {
    const auto journal = SqliteJournal::open(path, {});
    REQUIRE_OK(journal);
    std::vector<JournalRecord> more(5);
    for (JournalRecord& record : more) record.bytes = std::string(3, fill);
    REQUIRE_OK((*journal)->append(more));
  };
  append_records('a');
  const std::string ours = content_of(path + "-mark");
  put_content(path, common);
  std::filesystem::remove(path + "-mark");
  append_records('b');
  put_content(path + "-mark", ours);
  const auto refused = SqliteJournal::open(path, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.contains("another history"));
  CHECK(mentions(verified(path).problems, "record 15 is not the one that was acknowledged"));
}

TEST_CASE("a damaged or missing mark is no obstacle") {
  const TemporaryFolder folder;
  const std::string path = make_file(folder, numbered_records(10));
  const std::string mark = content_of(path + "-mark");
  for (size_t size = 0; size < mark.size(); size += 7) {
    put_content(path + "-mark", mark.substr(0, size));
    REQUIRE_OK(read_all(path));
  }
  put_content(path + "-mark", std::string(5000, 'x'));
  REQUIRE_OK(read_all(path));
  std::filesystem::remove(path + "-mark");
  REQUIRE_OK(read_all(path));
}

TEST_CASE("a broken history index is found, and rebuilt once its rows are dropped") {
  const TemporaryFolder folder;
  const std::string path = make_file(folder, numbered_records(3 * kBlockRecords));
  const auto history_size = [&] {
    const auto journal = SqliteJournal::open(path, {});
    REQUIRE_OK(journal);
    int64_t count = 0;
    REQUIRE_OK((*journal)->history({.workload = WorkloadId{3}, .limit = 10'000}, [&](const StoredRecord&) -> Status {
      ++count;
      return {};
    }));
    return count;
  };
  const int64_t whole = history_size();
  CHECK(whole == (3 * kBlockRecords + 4) / 7);
  run_sql(path, "DELETE FROM postings WHERE kind=0 AND key=3 AND block=1");
  CHECK(history_size() < whole);
  CHECK(mentions(verified(path).problems, fmt::format("history index of records {} to", kBlockRecords + 1)));
  run_sql(path, "INSERT INTO postings VALUES(0, 77, 0, x'0000'), (0, 78, 0, x'0000')");
  CHECK(mentions(verified(path).problems, "postings, and should have"));
  run_sql(path, "DELETE FROM blocks; DELETE FROM postings");
  CHECK(history_size() == whole);
  CHECK(verified(path).good());
}

TEST_CASE("of many problems the first hundred are told") {
  const TemporaryFolder folder;
  const std::string path = make_file(folder, numbered_records(300));
  run_sql(path, "UPDATE records SET type=77");
  const VerifyReport report = verified(path);
  CHECK(report.problems.size() == kProblemsMax + 1);
  CHECK(report.problems.back().contains("only the first"));
  CHECK(report.records == 300);
}

}  // namespace moulin::testing
