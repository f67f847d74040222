#include "server/backup.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "journal/sqlite_journal.h"
#include "server/data_folder.h"
#include "shim/temporary_folder.h"

namespace moulin::testing {

namespace {

namespace fs = std::filesystem;

void write(const std::string& path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A data folder with `records` records, some code and some logs, closed again.
void make_data(const std::string& path, int records) {
  Result<DataFolder> folder = DataFolder::open(path);
  REQUIRE(folder.has_value());
  auto journal = SqliteJournal::open(folder->journal(), {});
  REQUIRE(journal.has_value());
  for (int i = 1; i <= records; ++i)
    REQUIRE((*journal)->append({{.time = {i}, .type = i, .bytes = "record " + std::to_string(i)}}).has_value());
  write(path + "/snapshots/objects/ab/cdef", "print(1)");
  write(path + "/snapshots/manifests/1234", "a list");
  write(path + "/snapshots/1234/train.py", "print(1)");
  write(path + "/attempts/w-1/1/0/stdout.0.log", "hello");
  write(path + "/attempts/w-1/1/0/status", "running");
  write(path + "/admin.token", "secret");
}

std::vector<std::string> records_of(const std::string& path) {
  auto journal = SqliteJournal::open(path + "/journal.db", {});
  REQUIRE(journal.has_value());
  std::vector<std::string> bytes;
  REQUIRE((*journal)
              ->replay({},
                       [&](const StoredRecord& record) -> Status {
                         bytes.emplace_back(record.bytes);
                         return {};
                       })
              .has_value());
  return bytes;
}

// Names of all regular files below the folder, sorted.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("a backup holds the journal and the code, not tokens, and logs when asked for") {
  TemporaryFolder folder;
  make_data(folder / "data", 3);
  Result<BackupReport> made = make_backup(
      {.data_folder = folder / "data", .backup = folder / "one", .version = "0.1.0", .made_at = 1700000000});
  REQUIRE(made.has_value());
  CHECK(made->last.value == 3);
  CHECK(files_below(folder / "one") ==
        std::vector<std::string>{"backup.json", "journal.db", "snapshots/manifests/1234", "snapshots/objects/ab/cdef"});
  struct stat about{};
  REQUIRE(::stat((folder / "one").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777U) == 0700);

  REQUIRE(make_backup({.data_folder = folder / "data", .backup = folder / "two", .logs = BackupLogs::kInclude}));
  CHECK(fs::exists(folder / "two/attempts/w-1/1/0/stdout.0.log"));
  CHECK_FALSE(fs::exists(folder / "two/attempts/w-1/1/0/status"));
}

TEST_CASE("a restored folder has the same records, code and logs, in a new or an empty folder") {
  TemporaryFolder folder;
  make_data(folder / "data", 50);
  REQUIRE(make_backup({.data_folder = folder / "data", .backup = folder / "backup", .logs = BackupLogs::kInclude}));
  fs::create_directory(folder / "empty");
  for (const char* name : {"/new", "/empty"}) {
    Result<BackupReport> restored = restore_backup({.backup = folder / "backup", .data_folder = folder.path() + name});
    REQUIRE(restored.has_value());
    CHECK(restored->last.value == 50);
    CHECK(records_of(folder.path() + name) == records_of(folder / "data"));
    CHECK(text_of_file(folder.path() + name + "/snapshots/objects/ab/cdef") == "print(1)");
    CHECK(text_of_file(folder.path() + name + "/attempts/w-1/1/0/stdout.0.log") == "hello");
    CHECK_FALSE(fs::exists(folder.path() + name + ".part"));
  }
}

TEST_CASE("nothing is replaced, and what is not there is said") {
  TemporaryFolder folder;
  make_data(folder / "data", 1);
  REQUIRE(make_backup({.data_folder = folder / "data", .backup = folder / "backup"}));
  CHECK(make_backup({.data_folder = folder / "data", .backup = folder / "backup"}).error().code == Code::kConflict);
  CHECK(make_backup({.data_folder = folder / "none", .backup = folder / "other"}).error().code == Code::kNotFound);
  CHECK(restore_backup({.backup = folder / "backup", .data_folder = folder / "data"}).error().code == Code::kConflict);
  CHECK(restore_backup({.backup = folder / "none", .data_folder = folder / "new"}).error().code == Code::kNotFound);
  CHECK_FALSE(fs::exists(folder / "other"));
  CHECK_FALSE(fs::exists(folder / "new"));
}

TEST_CASE("a damaged or newer backup is refused, and leaves no folder") {
  TemporaryFolder folder;
  make_data(folder / "data", 20);
  auto damaged = [&](const std::string& name, auto damage) {
    std::string backup = folder / name;
    REQUIRE(make_backup({.data_folder = folder / "data", .backup = backup}));
    damage(backup);
    Result<BackupReport> restored = restore_backup({.backup = backup, .data_folder = folder / "new"});
    REQUIRE_FALSE(restored.has_value());
    CHECK_MESSAGE(!restored.error().to_do.empty(), restored.error().to_text());
    CHECK_FALSE(fs::exists(folder / "new"));
    CHECK_FALSE(fs::exists(folder / "new.part"));
    return restored.error().code;
  };
  CHECK(damaged("cut", [](const std::string& backup) { fs::resize_file(backup + "/journal.db", 5000); }) ==
        Code::kRefused);
  CHECK(damaged("lost", [](const std::string& backup) { fs::remove(backup + "/snapshots/objects/ab/cdef"); }) ==
        Code::kRefused);
  CHECK(damaged("list", [](const std::string& backup) { write(backup + "/backup.json", "{}"); }) == Code::kRefused);
  CHECK(damaged("newer", [](const std::string& backup) { write(backup + "/backup.json", R"({"format":2})"); }) ==
        Code::kRefused);
}

}  // namespace moulin::testing
