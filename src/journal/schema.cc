#include "journal/schema.h"

#include <fmt/format.h>

#include "base/check.h"

namespace moulin {
namespace {

// "Moul", so that `file` and we know the file for what it is.
constexpr int64_t kApplicationId = 0x4d6f756c;

// Empty as long as there is only format 1.
constexpr std::span<const Migration> kMigrations{};

// The chain stands before the bytes, so that a long record need not be read for it.
// The postings are WITHOUT ROWID: the key is the row.
constexpr const char* kTables = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE records(
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  type INTEGER NOT NULL,
  workload INTEGER NOT NULL,
  chain BLOB NOT NULL,
  bytes BLOB NOT NULL);
CREATE TABLE blocks(block INTEGER PRIMARY KEY, payload INTEGER NOT NULL);
CREATE TABLE postings(
  kind INTEGER NOT NULL,
  key INTEGER NOT NULL,
  block INTEGER NOT NULL,
  offsets BLOB NOT NULL,
  PRIMARY KEY(kind, key, block)) WITHOUT ROWID;
CREATE TABLE probes(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
)";

Status set_meta(sqlite::Connection& connection, std::string_view name, std::string_view value) {
  sqlite::Statement statement = TRY(connection.prepare("INSERT OR REPLACE INTO meta VALUES(CAST(? AS TEXT), ?)"));
  return statement.run(name, value);
}

Status set_format(sqlite::Connection& connection, const MigrationTarget& target) {
  sqlite::Statement statement = TRY(connection.prepare("INSERT OR REPLACE INTO meta VALUES('format', ?)"));
  TRY(statement.run(target.format));
  return set_meta(connection, "written_by", target.written_by);
}

enum class Content { kEmpty, kJournal };

// Looks without writing: a foreign file stays as it is.
Result<Content> content_of(sqlite::Connection& connection) {
  if (TRY(connection.integer("PRAGMA application_id")) == kApplicationId) return Content::kJournal;
  if (TRY(connection.integer("SELECT count(*) FROM sqlite_schema")) == 0) return Content::kEmpty;
  return Error{.code = Code::kRefused,
               .message = "the file is a database, but not a Moulin journal",
               .to_do = "give the data folder of a Moulin server, or an empty one"};
}

// The settings do not persist in the file (only WAL does), so each opening sets them.
Status set_durability(sqlite::Connection& connection) {
  const std::string mode = TRY(connection.text("PRAGMA journal_mode=WAL"));
  if (mode != "wal") {
    return Error{.code = Code::kUnavailable,
                 .message = fmt::format("the journal needs SQLite's write-ahead log, but got mode \"{}\"", mode),
                 .to_do = "use a data folder on a local disk: network file systems cannot hold it"};
  }
  return connection.run(
      "PRAGMA synchronous=FULL;"
      "PRAGMA wal_autocheckpoint=1000;"
      "PRAGMA journal_size_limit=67108864;");
}

Status create_tables(sqlite::Connection& connection, std::string_view written_by) {
  sqlite::Transaction transaction = TRY(sqlite::Transaction::begin(connection));
  TRY(connection.run(kTables));
  TRY(connection.run(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
  TRY(set_meta(connection, "number", draw_journal_number().view()));
  TRY(set_format(connection, {.format = kJournalFormat, .written_by = written_by}));
  return transaction.commit();
}

Error newer_format(const JournalIdentity& identity) {
  return {.code = Code::kRefused,
          .message = fmt::format("the journal was written by a newer Moulin ({}): it has format {}, this one reads "
                                 "formats up to {}",
                                 identity.written_by, identity.format, kJournalFormat),
          .to_do = "upgrade Moulin to that version or later, or restore a backup that this version wrote"};
}

}  // namespace

Result<JournalIdentity> read_identity(sqlite::Connection& connection) {
  if (TRY(content_of(connection)) == Content::kEmpty) {
    return Error{.code = Code::kNotFound, .message = "the file holds no journal", .to_do = "check the path"};
  }
  JournalIdentity identity;
  identity.format = TRY(connection.integer("SELECT value FROM meta WHERE name='format'"));
  identity.written_by = TRY(connection.text("SELECT value FROM meta WHERE name='written_by'"));
  if (identity.format > kJournalFormat) return newer_format(identity);
  identity.number = {sixteen_bytes(TRY(connection.text("SELECT value FROM meta WHERE name='number'")))};
  return identity;
}

Status migrate(sqlite::Connection& connection, std::span<const Migration> migrations, const MigrationTarget& target) {
  for (const Migration& step : migrations) {
    sqlite::Transaction transaction = TRY(sqlite::Transaction::begin(connection));
    const int64_t format = TRY(connection.integer("SELECT value FROM meta WHERE name='format'"));
    if (format != step.from) continue;
    TRY(connection.run(step.sql));
    TRY(set_format(connection, {.format = step.from + 1, .written_by = target.written_by}));
    TRY(transaction.commit());
  }
  const int64_t reached = TRY(connection.integer("SELECT value FROM meta WHERE name='format'"));
  if (reached == target.format) return {};
  return Error{.code = Code::kRefused,
               .message = fmt::format("the journal has format {}, and this Moulin has no way from there to format {}",
                                      reached, target.format),
               .to_do = "upgrade through the versions in between, one after the other"};
}

Result<JournalIdentity> prepare_schema(sqlite::Connection& connection, std::string_view written_by) {
  if (TRY(content_of(connection)) == Content::kEmpty) {
    TRY(set_durability(connection));
    TRY(create_tables(connection, written_by));
    return read_identity(connection);
  }
  const JournalIdentity found = TRY(read_identity(connection));
  TRY(set_durability(connection));
  if (found.format == kJournalFormat) return found;
  TRY(migrate(connection, kMigrations, {.format = kJournalFormat, .written_by = written_by}));
  return read_identity(connection);
}

}  // namespace moulin
