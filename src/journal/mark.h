// How far the journal has come, kept beside it, so that a lost end is noticed.
//
// A write-ahead log that was deleted or damaged looks to SQLite like one that was never
// written, and a journal file that an older copy replaced looks sound. So after each
// commit the last record's sequence and chain are written to "<journal>-mark", without
// fsync: after a crash of the process it is exact, after a loss of power it may be old,
// and it is never ahead of what is durable. When it is ahead of what a journal holds at
// opening, acknowledged records are gone and the journal refuses to open.
#pragma once

#include <optional>
#include <string>

#include "journal/chain.h"
#include "journal/durable_file.h"

namespace moulin {

struct Mark {
  JournalNumber number;
  Sequence sequence;
  Chain chain;
  bool operator==(const Mark&) const = default;
};

std::string mark_path(const std::string& journal_path);

// Nothing when there is no mark, or when it is damaged: it protects, it is not needed.
Result<std::optional<Mark>> read_mark(const std::string& journal_path);

// Belongs to the thread that appends.
class MarkWriter {
 public:
  static Result<MarkWriter> open(const std::string& journal_path);
  // A failure leaves the mark old or damaged, which only weakens it: not reported.
  void write(const Mark& mark);

 private:
  explicit MarkWriter(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace moulin
