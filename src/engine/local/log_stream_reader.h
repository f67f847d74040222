// Reads the files of one stream of one replica in order, while they may still grow, be
// rotated, be dropped or be deleted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shim/fd.h"
#include "shim/log_format.h"

namespace moulin {

// A record with its text. `text` is as the program wrote it, whatever its bytes.
struct LogLine {
  int64_t time_us = 0;  // since 1970, UTC
  LogStream stream = LogStream::kOut;
  LineEnd end = LineEnd::kNewline;
  std::string text;
  bool operator==(const LogLine&) const = default;
};

// A position in a stream: before the byte `offset` of the file `file`.
struct LogPlace {
  int64_t file = 0;    // 0: before the first file there is
  int64_t offset = 0;
  bool operator==(const LogPlace&) const = default;
};

// Opens only regular files inside the folder and follows no link. Not thread-safe.
class LogStreamReader {
 public:
  // `folder` must outlive the reader.
  LogStreamReader(const Fd& folder, LogStream stream) : folder_(folder), stream_(stream) {}

  void seek(LogPlace place);
  // Before the first record at or after this time, or a little earlier.
  void seek_time(int64_t time_us);
  // Before the last `count` records, or the first if there are fewer. How many there are.
  int64_t seek_tail(int64_t count);

  // The next record, or nullptr when there is none now; more may come. Valid until pop().
  const LogLine* peek();
  void pop() { next_.reset(); }
  // Behind the last record that was popped.
  LogPlace place() const { return next_ ? before_next_ : here_; }

  static constexpr size_t kBlock = 64 * 1024;

 private:
  std::vector<int64_t> numbers() const;
  bool open(int64_t number);
  bool open_following();
  bool fill();
  void take_line(std::string_view line, int64_t bytes);
  Fd open_file(int64_t number) const;

  const Fd& folder_;
  LogStream stream_;
  Fd file_;
  LogPlace here_;          // behind what was taken from buffer_
  LogPlace before_next_;
  std::string buffer_;     // read and not yet taken
  int64_t last_time_us_ = 0;
  std::optional<LogLine> next_;
};

}  // namespace moulin
