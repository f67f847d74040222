#include "journal/sqlite_journal.h"

#include <fstream>

#include "journal/backup.h"
#include "journal/durable_file.h"
#include "journal/testing.h"
#include "journal/verify.h"

namespace moulin::testing {
namespace {

std::unique_ptr<SqliteJournal> opened(const std::string& path, JournalOptions options = {}) {
  Result<std::unique_ptr<SqliteJournal>> journal = SqliteJournal::open(path, std::move(options));
  REQUIRE_OK(journal);
  return std::move(*journal);
}

// Ten records and a snapshot after each fifth, "state 5" and "state 10".
std::string make_with_snapshots(const TemporaryFolder& folder) {
  const std::string path = folder / "journal.db";
  const auto journal = opened(path);
  Rng rng(1);
  for (const int64_t sequence : {5, 10}) {
    REQUIRE_OK(journal->append(random_records(rng, 5)));
    REQUIRE_OK(
        journal->save_snapshot({.sequence = {sequence}, .format = 1, .bytes = fmt::format("state {}", sequence)}));
  }
  return path;
}

std::string snapshot_path(const std::string& path, int64_t sequence) { return SnapshotFiles(path).path_of({sequence}); }

// The sequence of the snapshot that a start would use, 0 for none, and the warnings.
struct Loaded {
  int64_t sequence = 0;
  std::vector<std::string> warnings;
};

Loaded loaded(const std::string& path) {
  Loaded result;
  const auto journal = opened(path, {.warn = [&](const std::string& text) { result.warnings.push_back(text); }});
  const auto snapshot = journal->load_snapshot(1);
  REQUIRE_OK(snapshot);
  if (*snapshot) result.sequence = (*snapshot)->sequence.value;
  return result;
}

}  // namespace

TEST_CASE("a journal that is opened again goes on where it ended") {
  const TemporaryFolder folder;
  Rng rng(1);
  std::vector<JournalRecord> all;
  int64_t payload = 0;
  for (const int64_t count : {3, 1, 20'000, 0, 16'384, 700}) {
    const auto journal = opened(folder / "journal.db");
    CHECK(journal->last().value == std::ssize(all));
    const auto batch = random_records(rng, count);
    REQUIRE_OK(journal->append(batch));
    append_all(all, batch);
    for (const JournalRecord& record : batch) payload += std::ssize(record.bytes);
    CHECK(journal->stats().value().payload.count == payload);
  }
  const auto journal = opened(folder / "journal.db");
  require_holds(*journal, all);
  CHECK(journal->stats().value().payload.count == payload);
  CHECK(journal->stats().value().on_disk.count > payload);
  CHECK(verify_journal(folder / "journal.db").value().good());
}

TEST_CASE("a backup made while records are appended opens as a journal") {
  const TemporaryFolder folder;
  const auto journal = opened(folder / "journal.db");
  Rng rng(2);
  const auto records = random_records(rng, 2'000);
  REQUIRE_OK(journal->append(records));
  REQUIRE_OK(backup_journal({.journal = folder / "journal.db", .backup = folder / "backup.db"}));
  REQUIRE_OK(journal->append(random_records(rng, 5)));
  require_holds(*opened(folder / "backup.db"), records);
  CHECK(verify_journal(folder / "backup.db").value().good());
  CHECK(!std::filesystem::exists(folder / "backup.db.new"));
  const auto permissions = std::filesystem::status(folder / "backup.db").permissions();
  CHECK(permissions == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));

  const Status twice = backup_journal({.journal = folder / "journal.db", .backup = folder / "backup.db"});
  REQUIRE(!twice);
  CHECK(twice.error().code == Code::kConflict);
  const Status nowhere = backup_journal({.journal = folder / "journal.db", .backup = folder / "missing/backup.db"});
  REQUIRE(!nowhere);
  CHECK(nowhere.error().code == Code::kNotFound);
}

TEST_CASE("a backup is restored only whole, and only where no journal is") {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  const std::string backup = make_with_snapshots(folder);
  const std::string path = target / "journal.db";
  REQUIRE_OK(restore_journal({.journal = path, .backup = backup}));
  CHECK(opened(path)->last().value == 10);
  CHECK(loaded(path).sequence == 0);
  for (const char* left : {"journal.db", "journal.db-mark"}) {
    const Status taken = restore_journal({.journal = path, .backup = backup});
    REQUIRE(!taken);
    CHECK(taken.error().code == Code::kConflict);
    CHECK(taken.error().message.contains(left));
    std::filesystem::remove(target / left);
  }
  REQUIRE_OK(restore_journal({.journal = path, .backup = backup}));
  std::filesystem::remove(path);

  std::string broken = read_file(backup, mebibytes(1)).value();
  broken.resize(broken.size() / 2);
  std::ofstream(folder / "broken.db", std::ios::binary) << broken;
  CHECK(!restore_journal({.journal = path, .backup = folder / "broken.db"}));
  CHECK(!std::filesystem::exists(path));
  const Status missing = restore_journal({.journal = path, .backup = folder / "missing.db"});
  REQUIRE(!missing);
  CHECK(missing.error().code == Code::kNotFound);
}

TEST_CASE("the newest good snapshot is loaded, and a broken one costs a warning") {
  const TemporaryFolder folder;
  const std::string path = make_with_snapshots(folder);
  CHECK(loaded(path).sequence == 10);
  CHECK(loaded(path).warnings.empty());
  const std::string sound = read_file(snapshot_path(path, 10), kibibytes(1)).value();
  for (size_t at = 0; at < sound.size(); ++at) {
    std::string broken = sound;
    broken[at] = static_cast<char>(broken[at] ^ 4);
    std::ofstream(snapshot_path(path, 10), std::ios::binary) << broken;
    const Loaded result = loaded(path);
    CHECK(result.sequence == 5);
    CHECK(result.warnings.size() == 1);
  }
  for (size_t size = 0; size < sound.size(); size += 3) {
    std::ofstream(snapshot_path(path, 10), std::ios::binary) << sound.substr(0, size);
    CHECK(loaded(path).sequence == 5);
  }
  const VerifyReport report = verify_journal(path).value();
  CHECK(report.good());
  REQUIRE(report.snapshots.size() == 2);
  CHECK(report.snapshots[0].sequence.value == 10);
  CHECK(!report.snapshots[0].problem.empty());
  CHECK(report.snapshots[1].problem.empty());
}

TEST_CASE("a snapshot under another name is not what it says") {
  const TemporaryFolder folder;
  const std::string path = make_with_snapshots(folder);
  std::filesystem::rename(snapshot_path(path, 5), snapshot_path(path, 7));
  std::filesystem::remove(snapshot_path(path, 10));
  CHECK(loaded(path).sequence == 0);
  CHECK(loaded(path).warnings.size() == 1);
}

TEST_CASE("a snapshot of another journal does not fit") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const std::string path = make_with_snapshots(folder);
  const std::string theirs = make_with_snapshots(other);
  std::filesystem::copy_file(snapshot_path(theirs, 10), snapshot_path(path, 10),
                             std::filesystem::copy_options::overwrite_existing);
  const Loaded result = loaded(path);
  CHECK(result.sequence == 5);
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].contains("another journal"));
}

TEST_CASE("snapshots ahead of the journal are passed over, and make room for new ones") {
  const TemporaryFolder folder;
  const std::string path = make_with_snapshots(folder);
  for (const int64_t ahead : {100, 200, 300}) {
    std::filesystem::copy_file(snapshot_path(path, 10), snapshot_path(path, ahead));
  }
  CHECK(loaded(path).sequence == 10);
  CHECK(loaded(path).warnings.size() == 3);
  {
    const auto journal = opened(path);
    REQUIRE_OK(journal->save_snapshot({.sequence = {8}, .format = 1, .bytes = "state 8"}));
  }
  CHECK(loaded(path).warnings.empty());
  CHECK(SnapshotFiles(path).list().value() == std::vector<Sequence>{{10}, {8}, {5}});
}

TEST_CASE("a snapshot that was being written when the machine stopped is not seen") {
  const TemporaryFolder folder;
  const std::string path = make_with_snapshots(folder);
  std::ofstream(snapshot_path(path, 12) + ".new") << "half";
  CHECK(loaded(path).sequence == 10);
  CHECK(loaded(path).warnings.empty());
}

TEST_CASE("readers are bounded") {
  const TemporaryFolder folder;
  const auto journal = opened(folder / "journal.db");
  Rng rng(3);
  REQUIRE_OK(journal->append(random_records(rng, 1)));
  // Each visitor starts one more replay inside the one before.
  size_t depth = 0;
  std::function<Status(const StoredRecord&)> deeper = [&](const StoredRecord&) -> Status {
    ++depth;
    return journal->replay({}, deeper);
  };
  const Status refused = journal->replay({}, deeper);
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kTooMany);
  CHECK(depth == kReadersMax);
  REQUIRE_OK(replayed(*journal));
}

}  // namespace moulin::testing
