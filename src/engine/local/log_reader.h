// Reads the logs of a replica: both streams in order of time, from anywhere, and on as
// they grow. Works the same while the replica runs and long after it ended.
//
//   LogReader reader = TRY(LogReader::open(data_folder, key, {.tail = 100}));
//   while (true) {
//     LogChunk chunk = reader.read_more();
//     show(chunk.lines);
//     if (!chunk.more && replica_has_ended) break;  // ended was known before the read
//     wait a moment when !chunk.more
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/share.h"
#include "engine/local/log_stream_reader.h"
#include "model/report.h"

namespace moulin {

// A position in both streams, to go on from in another reader: "3.1200-1.0".
struct LogCursor {
  LogPlace out{};
  LogPlace err{};
  bool operator==(const LogCursor&) const = default;
};
std::string to_text(const LogCursor& cursor);
Result<LogCursor> parse_log_cursor(std::string_view text);

// Where to begin: at `cursor`, else at the last `tail` lines, else at the first line
// there is. Lines before `since_us` are left out in any case.
struct LogRequest {
  std::optional<LogStream> stream{};      // none: both
  std::optional<LogCursor> cursor{};
  std::optional<int64_t> tail{};          // 0 to kTailMax
  std::optional<int64_t> since_us{};      // microseconds since 1970
};
inline constexpr int64_t kTailMax = 1'000'000;

struct LogChunk {
  std::vector<LogLine> lines;  // ordered by time within what was there when it was read
  bool more = false;           // there is more right now
};

// Never follows a link, never blocks. Movable; not thread-safe.
class LogReader {
 public:
  // kNotFound when the replica has no folder on this machine; kInvalid for a bad request.
  static Result<LogReader> open(const std::string& data_folder, const ReplicaKey& key, const LogRequest& request);
  // The same for a folder that is open.
  static Result<LogReader> open(Fd folder, const LogRequest& request);

  // The next lines, with texts of at most about `limit` in all. Empty: nothing new.
  LogChunk read_more(Bytes limit = mebibytes(1));
  // Behind the last line that was returned.
  LogCursor cursor() const;

 private:
  explicit LogReader(Fd folder);
  Status seek(const LogRequest& request);
  LogStreamReader* earliest();

  std::unique_ptr<Fd> folder_;  // readers point to it
  std::vector<LogStreamReader> readers_;  // out, err
  std::optional<LogStream> only_;
  int64_t since_us_ = INT64_MIN;
  int64_t skip_ = 0;            // of a tail: lines that are before it when merged
};

}  // namespace moulin
