// A thin wrapper around SQLite: the only files that know sqlite3.h are sqlite.cc and
// the tests' faulty disk.
//
// A Connection and everything made from it belong to one thread at a time. Nothing here
// throws. Errors carry what a person can do about them:
//   kUnavailable  the disk is full, read-only or failing, or another process holds the
//                 file: nothing was written, a later call may succeed
//   kInternal     the file is damaged or is no database
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace moulin::sqlite {

enum class Access { kReadWrite, kReadOnly };

// How to open a file. A missing file is created with kReadWrite only.
struct Location {
  std::string path;
  Access access = Access::kReadWrite;
  std::string vfs{};  // a registered SQLite VFS; empty: the system's. Tests inject faults here.
};

// The rows of one running query, in order. Ends the query, and with it the read lock,
// when it goes out of scope. Must not outlive its Statement.
class Rows {
 public:
  explicit Rows(sqlite3_stmt* statement) : statement_(statement) {}
  Rows(Rows&& other) noexcept : statement_(other.statement_) { other.statement_ = nullptr; }
  Rows& operator=(Rows&& other) = delete;
  ~Rows();

  Result<bool> next();                            // false: there are no more
  int64_t integer(int column) const;              // columns count from 0
  std::string_view blob(int column) const;        // text too; valid until next()

 private:
  sqlite3_stmt* statement_;
};

// A prepared statement, to be kept and used again. Arguments are integers, or strings
// bound as blobs, in the order of the question marks. A string argument must outlive
// the call of run(), or the Rows of query().
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Runs it to its end; rows, if any, are dropped.
  template <class... Arguments>
  Status run(const Arguments&... arguments) {
    bind(arguments...);
    return finish();
  }

  template <class... Arguments>
  Rows query(const Arguments&... arguments) {
    bind(arguments...);
    return Rows(statement_.get());
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  template <class... Arguments>
  void bind(const Arguments&... arguments) {
    reset();
    [[maybe_unused]] int index = 0;
    (bind_one(++index, arguments), ...);
  }
  template <class Argument>
  void bind_one(int index, const Argument& argument) {
    if constexpr (std::is_integral_v<Argument>) {
      bind_integer(index, static_cast<int64_t>(argument));
    } else {
      bind_blob(index, argument);
    }
  }
  void bind_integer(int index, int64_t value);
  void bind_blob(int index, std::string_view value);
  void reset();
  Status finish();

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// An open database file. Waits at most five seconds for another process's lock.
class Connection {
 public:
  static Result<Connection> open(const Location& location);

  // One or more statements without arguments or rows.
  Status run(const char* sql);
  Result<Statement> prepare(std::string_view sql);

  // The only value of the only row of a query without arguments.
  Result<int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  // Ends an open transaction without effect; nothing to do outside one.
  void roll_back();

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  explicit Connection(sqlite3* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3, Close> handle_;
};

// BEGIN IMMEDIATE until commit(); rolls back when it goes out of scope before. A failed
// commit leaves nothing behind.
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace moulin::sqlite
