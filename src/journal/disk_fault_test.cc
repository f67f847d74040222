// Full, failing, read-only and unplugged disks: nothing half-written, nothing
// acknowledged lost, and writing resumes.
#include "journal/fault_vfs.h"
#include "journal/sqlite_journal.h"
#include "journal/testing.h"
#include "journal/verify.h"

namespace moulin::testing {
namespace {

std::unique_ptr<SqliteJournal> opened(const std::string& path, const std::string& vfs = "") {
  Result<std::unique_ptr<SqliteJournal>> journal = SqliteJournal::open(path, {.vfs = vfs});
  REQUIRE_OK(journal);
  return std::move(*journal);
}

void require_whole(const std::string& path) {
  const Result<VerifyReport> report = verify_journal(path);
  REQUIRE_OK(report);
  REQUIRE_MESSAGE(report->good(), (report->good() ? "" : report->problems.front()));
}

// How often one append of `batch` touches the disk.
int64_t operations_of(const std::vector<JournalRecord>& batch) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  const auto journal = opened(folder / "journal.db", disk.vfs());
  const int64_t before = disk.operations();
  REQUIRE_OK(journal->append(batch));
  return disk.operations() - before;
}

struct Expected {
  DiskFault fault;
  const char* message;
  const char* to_do;
};

constexpr Expected kExpected[] = {
    {DiskFault::kFull, "full", "free space"},
    {DiskFault::kBroken, "Input/output error", "check the folder and the disk"},
    {DiskFault::kReadOnly, "Read-only file system", "writable"},
    {DiskFault::kNoSync, "Input/output error", "check the folder and the disk"},
};

}  // namespace

TEST_CASE("whenever the disk fails during an append, the journal is as before and goes on when it is mended") {
  Rng rng(1);
  const auto first = random_records(rng, 20);
  const auto second = random_records(rng, 40);
  const auto third = random_records(rng, 5);
  const int64_t operations = operations_of(second);
  REQUIRE(operations > 4);
  for (const Expected& expected : kExpected) {
    int64_t failures = 0;
    for (int64_t after = 0; after < operations; ++after) {
      const TemporaryFolder folder;
      FaultyDisk disk;
      auto journal = opened(folder / "journal.db", disk.vfs());
      REQUIRE_OK(journal->append(first));
      disk.fail({.fault = expected.fault, .after = after});
      const Status failed = journal->append(second);
      std::vector<JournalRecord> held = first;
      if (failed) {
        append_all(held, second);  // the fault came after the last operation of its kind
      } else {
        ++failures;
        INFO(failed.error().to_text());
        CHECK(failed.error().code == Code::kUnavailable);
        CHECK(failed.error().message.find(expected.message) != std::string::npos);
        CHECK(failed.error().to_do.find(expected.to_do) != std::string::npos);
        CHECK(!journal->probe());
      }
      require_holds(*journal, held);  // reads go on
      disk.mend();
      REQUIRE_OK(journal->probe());
      REQUIRE_OK(journal->append(third));
      append_all(held, third);
      require_holds(*journal, held);
      journal.reset();
      require_holds(*opened(folder / "journal.db", disk.vfs()), held);
      require_whole(folder / "journal.db");
    }
    CHECK(failures > 0);
  }
}

TEST_CASE("a disk that fails while a block's postings are written leaves no half of them") {
  Rng rng(2);
  std::vector<JournalRecord> all(static_cast<size_t>(kBlockRecords) - 10);
  for (JournalRecord& record : all) {
    record.type = static_cast<int32_t>(rng.between(1, 5));
    record.workload = {static_cast<uint64_t>(rng.between(1, 2'000))};
  }
  const auto more = random_records(rng, 20);
  for (const int64_t after : {0, 5, 20, 40}) {
    const TemporaryFolder folder;
    FaultyDisk disk;
    auto journal = opened(folder / "journal.db", disk.vfs());
    REQUIRE_OK(journal->append(all));
    disk.fail({.fault = DiskFault::kFull, .after = after});
    REQUIRE(!journal->append(more));
    disk.mend();
    CHECK(journal->last().value == kBlockRecords - 10);
    REQUIRE_OK(journal->append(more));
    journal.reset();
    require_whole(folder / "journal.db");
  }
}

TEST_CASE("a disk that fails during a checkpoint costs no commit") {
  Rng rng(3);
  const TemporaryFolder folder;
  FaultyDisk disk;
  auto journal = opened(folder / "journal.db", disk.vfs());
  std::vector<JournalRecord> all;
  int64_t failed = 0;
  // Some 20 pages a batch: a checkpoint is due every 50 batches.
  for (int i = 0; i < 200; ++i) {
    const auto batch = random_records(rng, 80);
    if (i % 7 == 0) disk.fail({.fault = DiskFault::kFull, .after = rng.between(0, 60)});
    if (journal->append(batch)) append_all(all, batch);
    else ++failed;
    disk.mend();
  }
  CHECK(failed > 0);
  require_holds(*journal, all);
  journal.reset();
  require_holds(*opened(folder / "journal.db"), all);
  require_whole(folder / "journal.db");
}

TEST_CASE("a journal on a disk that is full cannot be opened new, and can when it is mended") {
  const TemporaryFolder folder;
  FaultyDisk disk;
  disk.fail({.fault = DiskFault::kFull});
  const auto failed = SqliteJournal::open(folder / "journal.db", {.vfs = disk.vfs()});
  REQUIRE(!failed);
  CHECK(failed.error().code == Code::kUnavailable);
  disk.mend();
  Rng rng(4);
  const auto records = random_records(rng, 3);
  auto journal = opened(folder / "journal.db", disk.vfs());
  REQUIRE_OK(journal->append(records));
  require_holds(*journal, records);
}

TEST_CASE("a loss of power at any moment loses nothing acknowledged and leaves whole batches") {
  constexpr int64_t kBatch = 40;
  Rng rng(5);
  const auto all = random_records(rng, 100 * kBatch);
  int64_t survived_unacknowledged = 0;
  for (int round = 0; round < 60; ++round) {
    const TemporaryFolder folder;
    const TemporaryFolder after;
    FaultyDisk disk;
    auto journal = opened(folder / "journal.db", disk.vfs());
    // Late enough for checkpoints to be hit too.
    disk.fail({.fault = DiskFault::kPowerOff, .after = rng.between(0, 4'000)});
    for (auto at = all.begin(); at != all.end(); at += kBatch) {
      if (!journal->append(std::vector(at, at + kBatch))) break;
    }
    const int64_t acknowledged = journal->last().value;
    std::filesystem::copy(folder / "journal.db-mark", after / "journal.db-mark");
    disk.restore(after.path(), rng);
    journal.reset();
    FaultyDisk mended;  // for its free fsync
    const auto found = opened(after / "journal.db", mended.vfs());
    const int64_t held = found->last().value;
    REQUIRE(held >= acknowledged);
    REQUIRE(held <= acknowledged + kBatch);
    REQUIRE(held % kBatch == 0);
    survived_unacknowledged += held > acknowledged ? 1 : 0;
    require_holds(*found, std::vector(all.begin(), all.begin() + held));
  }
  // The other way round is possible, and happens.
  CHECK(survived_unacknowledged > 0);
}

}  // namespace moulin::testing
