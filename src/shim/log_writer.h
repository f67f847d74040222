// Writes one stream of a program to numbered files with a time on each line.
//
// Nothing that happens to the files stops the program: a deleted file is made anew, a
// link in its place is not followed, and output that cannot be written (disk full, folder
// gone) is counted, dropped, and said in the log once writing works again.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/share.h"
#include "shim/fd.h"
#include "shim/log_format.h"

namespace moulin {

// Times are microseconds since 1970, given by the caller. Not thread-safe.
class LogWriter {
 public:
  struct Rules {
    LogStream stream = LogStream::kOut;
    Bytes total_max{};  // of all files of the stream; 0: no limit. The oldest file is dropped
  };
  // `folder` must outlive the writer. No file is made before the first line.
  LogWriter(const Fd& folder, Rules rules);

  // What the program wrote, cut anywhere. Whole lines are in the file when this returns.
  void add(std::string_view bytes, int64_t now_us);
  // Writes an unfinished line that is older than kPartialAge, so that followers see a
  // prompt or a progress bar. At the end of the program: with `now_us` far ahead.
  void flush_old(int64_t now_us);
  bool has_partial() const { return !partial_.empty(); }
  // Ends an unfinished line: the stream is over.
  void finish(int64_t now_us);

  int64_t bytes_dropped() const { return dropped_total_; }

  static constexpr int64_t kPartialAgeUs = 500'000;
  static constexpr Bytes kFileMax = mebibytes(16);  // a smaller total gives smaller files

 private:
  struct File {
    int64_t number = 0;
    int64_t bytes = 0;
  };
  void record(std::string_view text, LineEnd end, int64_t now_us);
  void write_out();
  bool ensure_file();
  bool open_next();
  void drop_oldest();
  void note_dropped(int64_t now_us);

  const Fd& folder_;
  Rules rules_;
  int64_t file_max_;
  Fd file_;
  std::deque<File> files_;  // oldest first; the last is open when file_ is
  int64_t next_number_ = 1;
  std::string partial_;
  int64_t partial_since_us_ = 0;
  std::string pending_;     // records for the next write
  int64_t pending_text_ = 0;
  bool torn_ = false;       // a write failed half way: the next one begins on a new line
  int64_t dropped_ = 0;     // since the last note in the log
  int64_t noted_ = 0;       // said in pending_
  int64_t dropped_total_ = 0;
};

}  // namespace moulin
