// Readers that threads borrow, so that reads go on beside each other and beside append.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "journal/reader.h"

namespace moulin {

inline constexpr size_t kReadersMax = 16;      // at work at the same time
inline constexpr size_t kReadersIdleMax = 4;   // kept open between uses

// Thread-safe. Outlives what it lends.
class ReadPool {
 public:
  ReadPool(sqlite::Location location, const JournalNumber& number)
      : location_(std::move(location)), number_(number) {}

  // A borrowed reader; goes back when it leaves its scope.
  class Lease {
   public:
    Lease(ReadPool& pool, std::unique_ptr<Reader> reader) : pool_(&pool), reader_(std::move(reader)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (reader_) pool_->take_back(std::move(reader_));
    }
    Reader* operator->() { return reader_.get(); }

   private:
    ReadPool* pool_;
    std::unique_ptr<Reader> reader_;
  };

  // kTooMany: kReadersMax are at work. kUnavailable or kInternal: the file cannot be opened.
  Result<Lease> lease();

 private:
  void take_back(std::unique_ptr<Reader> reader);

  sqlite::Location location_;
  JournalNumber number_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;
  size_t lent_ = 0;
};

}  // namespace moulin
