#include "journal/schema.h"

#include "journal/sqlite_journal.h"
#include "journal/testing.h"

namespace moulin::testing {
namespace {

Result<sqlite::Connection> connect(const std::string& path) { return sqlite::Connection::open({.path = path}); }

void make_journal(const std::string& path) {
  const auto journal = SqliteJournal::open(path, {.written_by = "1.2.3"});
  REQUIRE_OK(journal);
  Rng rng(1);
  REQUIRE_OK((*journal)->append(random_records(rng, 3)));
}

void run_sql(const std::string& path, const char* sql) {
  auto connection = connect(path);
  REQUIRE_OK(connection);
  REQUIRE_OK(connection->run(sql));
}

Error error_of_opening(const std::string& path) {
  const auto opened = SqliteJournal::open(path, {});
  REQUIRE(!opened);
  return opened.error();
}

}  // namespace

TEST_CASE("a journal of a newer Moulin is refused, and left as it is") {
  const TemporaryFolder folder;
  make_journal(folder / "journal.db");
  run_sql(folder / "journal.db", "UPDATE meta SET value=99 WHERE name='format'");
  run_sql(folder / "journal.db", "UPDATE meta SET value='9.0.1' WHERE name='written_by'");
  const Error error = error_of_opening(folder / "journal.db");
  CHECK(error.code == Code::kRefused);
  CHECK(error.message.find("newer Moulin (9.0.1)") != std::string::npos);
  CHECK(error.to_do.find("upgrade") != std::string::npos);
  run_sql(folder / "journal.db", "UPDATE meta SET value=1 WHERE name='format'");
  REQUIRE_OK(SqliteJournal::open(folder / "journal.db", {}));
}

TEST_CASE("another program's database is refused, and left as it is") {
  const TemporaryFolder folder;
  run_sql(folder / "other.db", "CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)");
  CHECK(error_of_opening(folder / "other.db").code == Code::kRefused);
  auto connection = connect(folder / "other.db");
  REQUIRE_OK(connection);
  CHECK(connection->text("PRAGMA journal_mode").value() == "delete");
  CHECK(connection->integer("SELECT count(*) FROM sqlite_schema").value() == 1);
}

TEST_CASE("a file that is no database is refused") {
  const TemporaryFolder folder;
  std::FILE* file = std::fopen((folder / "text").c_str(), "w");
  for (int i = 0; i < 1000; ++i) std::fputs("not a database\n", file);
  std::fclose(file);
  const Error error = error_of_opening(folder / "text");
  CHECK(error.code == Code::kInternal);
  CHECK(error.message.find("not a database") != std::string::npos);
}

TEST_CASE("a missing folder is told by name") {
  const TemporaryFolder folder;
  const Error error = error_of_opening(folder / "missing/journal.db");
  CHECK(error.code == Code::kNotFound);
  CHECK(error.message.find("missing/journal.db") != std::string::npos);
}

TEST_CASE("only the owner can read a journal") {
  const TemporaryFolder folder;
  make_journal(folder / "journal.db");
  for (const char* name : {"journal.db", "journal.db-mark"}) {
    const auto permissions = std::filesystem::status(folder / name).permissions();
    CHECK(permissions == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }
}

TEST_CASE("migration steps run in order, each once") {
  const TemporaryFolder folder;
  make_journal(folder / "journal.db");
  auto connection = connect(folder / "journal.db");
  REQUIRE_OK(connection);
  const std::vector<Migration> steps{
      {.from = 1, .sql = "CREATE TABLE second(x); INSERT INTO second VALUES(1)"},
      {.from = 2, .sql = "INSERT INTO second VALUES(2)"},
  };
  REQUIRE_OK(migrate(*connection, steps, {.format = 3, .written_by = "2.0.0"}));
  REQUIRE_OK(migrate(*connection, steps, {.format = 3, .written_by = "3.0.0"}));
  CHECK(connection->integer("SELECT sum(x) FROM second").value() == 3);
  CHECK(connection->integer("SELECT value FROM meta WHERE name='format'").value() == 3);
  CHECK(connection->text("SELECT value FROM meta WHERE name='written_by'").value() == "2.0.0");
}

TEST_CASE("a failing migration step leaves the version before it") {
  const TemporaryFolder folder;
  make_journal(folder / "journal.db");
  auto connection = connect(folder / "journal.db");
  REQUIRE_OK(connection);
  const std::vector<Migration> steps{
      {.from = 1, .sql = "CREATE TABLE second(x)"},
      {.from = 2, .sql = "CREATE TABLE third(x); INSERT INTO missing VALUES(1)"},
  };
  CHECK(!migrate(*connection, steps, {.format = 3, .written_by = "2.0.0"}));
  CHECK(connection->integer("SELECT value FROM meta WHERE name='format'").value() == 2);
  CHECK(connection->integer("SELECT count(*) FROM sqlite_schema WHERE name='third'").value() == 0);
}

TEST_CASE("a version without a way up is refused") {
  const TemporaryFolder folder;
  make_journal(folder / "journal.db");
  auto connection = connect(folder / "journal.db");
  REQUIRE_OK(connection);
  const Status refused = migrate(*connection, {}, {.format = 5, .written_by = "5.0.0"});
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kRefused);
  CHECK(refused.error().message.find("format 1") != std::string::npos);
}

}  // namespace moulin::testing
