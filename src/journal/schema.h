// The tables of a journal file, their version, and how an older version is brought up.
//
// docs/journal_format.md describes every column. kJournalFormat grows with each change
// to the tables or to what is hashed; the version of the events inside the records is
// their own business and not seen here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "journal/chain.h"
#include "journal/sqlite.h"

namespace moulin {

inline constexpr int64_t kJournalFormat = 1;

// What the file says about itself.
struct JournalIdentity {
  JournalNumber number;
  int64_t format = 0;
  std::string written_by;  // the newest Moulin that created or migrated it
};

// SQL that turns format `from` into `from` + 1. Runs in one transaction with the change
// of the version, so that a crash leaves either.
struct Migration {
  int64_t from = 0;
  const char* sql = "";
};

// Sets the durability settings of a writing connection, creates the tables in an empty
// file and migrates an older one. kRefused: a newer format, or a file of something else;
// it was not touched.
Result<JournalIdentity> prepare_schema(sqlite::Connection& connection, std::string_view written_by);

// The same check without writing. kNotFound: an empty file.
Result<JournalIdentity> read_identity(sqlite::Connection& connection);

// Applies `migrations` (ordered, one a version, checked) until the file has format `target`.
// For prepare_schema and for tests of the mechanism.
struct MigrationTarget {
  int64_t format = 0;
  std::string_view written_by;
};
Status migrate(sqlite::Connection& connection, std::span<const Migration> migrations, const MigrationTarget& target);

}  // namespace moulin
