#include "journal/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "journal/durable_file.h"

namespace moulin::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5'000;

std::string file_of(sqlite3* handle) {
  const char* name = sqlite3_db_filename(handle, "main");
  return name == nullptr || *name == '\0' ? "(no file)" : name;
}

int last_errno_of(sqlite3_file* file) {
  int number = 0;
  if (file != nullptr && file->pMethods != nullptr) {
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
  }
  return number;
}

// The errno behind `result`, or 0. SQLite keeps it with the connection, except when a
// COMMIT fails: then only the file knows.
int system_error_of(sqlite3* handle, int result) {
  if (const int number = sqlite3_system_errno(handle); number != 0 || (result & 0xff) != SQLITE_IOERR) return number;
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(handle, "main", which, &file);
    if (const int number = last_errno_of(file); number != 0) return number;
  }
  return 0;
}

// What the system said, where it said anything: " (No space left on device)".
std::string reason(int system_error) {
  return system_error == 0 ? "" : fmt::format(" ({})", std::strerror(system_error));
}

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

const char* advice_for(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return advice_on(ENOSPC);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return advice_on(EROFS);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return advice_on(system_error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the file: end it (fuser names it), then retry";
    case SQLITE_NOMEM:
      return "the server is out of memory: free some, then retry";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "run `moulin journal verify`, then put the last good copy of the data folder in its place";
    default:
      return "report it with this message";
  }
}

Error error_of(sqlite3* handle, int result) {
  const int system_error = system_error_of(handle, result);
  return {.code = code_of(result),
          .message = fmt::format("{}: {}{}", file_of(handle), sqlite3_errmsg(handle), reason(system_error)),
          .to_do = advice_for(result, system_error)};
}

Error error_of(sqlite3_stmt* statement, int result) { return error_of(sqlite3_db_handle(statement), result); }

}  // namespace

Rows::~Rows() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

Result<bool> Rows::next() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return error_of(statement_, result);
}

int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Rows::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::reset() { sqlite3_reset(statement_.get()); }

void Statement::bind_integer(int index, int64_t value) {
  MOULIN_CHECK(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK, "the statement has this argument");
}

void Statement::bind_blob(int index, std::string_view value) {
  // A null pointer would bind NULL instead of the empty blob.
  const char* data = value.empty() ? "" : value.data();
  const int result = sqlite3_bind_blob64(statement_.get(), index, data, value.size(), SQLITE_STATIC);
  MOULIN_CHECK(result == SQLITE_OK, "the statement has this argument");
}

Status Statement::finish() {
  int result = sqlite3_step(statement_.get());
  while (result == SQLITE_ROW) result = sqlite3_step(statement_.get());
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return {};
  }
  Error error = error_of(statement_.get(), result);
  sqlite3_reset(statement_.get());
  return error;
}

void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<Connection> Connection::open(const Location& location) {
  // Counting allocations would cost a lock each. Has no effect when somebody opened before.
  [[maybe_unused]] static const int kNoCounting = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  const int access = location.access == Access::kReadOnly ? SQLITE_OPEN_READONLY
                                                          : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(location.path.c_str(), &handle, access | SQLITE_OPEN_NOMUTEX,
                                     location.vfs.empty() ? nullptr : location.vfs.c_str());
  Connection connection(handle);
  if (handle == nullptr) return Error{.code = Code::kUnavailable, .message = "out of memory for the journal"};
  if (result != SQLITE_OK) {
    Error error = error_of(handle, result);
    // A handle that failed to open does not know its file's name.
    error.message =
        fmt::format("{}: {}{}", location.path, sqlite3_errmsg(handle), reason(system_error_of(handle, result)));
    return error;
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return connection;
}

Status Connection::run(const char* sql) {
  const int result = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (result == SQLITE_OK) return {};
  return error_of(handle_.get(), result);
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return error_of(handle_.get(), result);
  return Statement(statement);
}

Result<int64_t> Connection::integer(std::string_view sql) {
  Statement statement = TRY(prepare(sql));
  Rows rows = statement.query();
  if (!TRY(rows.next())) return Error{.message = fmt::format("{}: no row from `{}`", file_of(handle_.get()), sql)};
  return rows.integer(0);
}

Result<std::string> Connection::text(std::string_view sql) {
  Statement statement = TRY(prepare(sql));
  Rows rows = statement.query();
  if (!TRY(rows.next())) return Error{.message = fmt::format("{}: no row from `{}`", file_of(handle_.get()), sql)};
  return std::string(rows.blob(0));
}

void Connection::roll_back() {
  // An I/O error may have rolled back already; then there is nothing to end.
  if (sqlite3_get_autocommit(handle_.get()) == 0) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  MOULIN_CHECK(sqlite3_get_autocommit(handle_.get()) != 0, "no transaction survives a roll back");
}

Result<Transaction> Transaction::begin(Connection& connection) {
  TRY(connection.run("BEGIN IMMEDIATE"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr) connection_->roll_back();
}

Status Transaction::commit() {
  TRY(connection_->run("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace moulin::sqlite
