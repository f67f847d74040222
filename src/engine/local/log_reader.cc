#include "engine/local/log_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/local/attempt_store.h"
#include "shim/files.h"

namespace moulin {
namespace {

Error bad_cursor(std::string_view text) {
  return {.code = Code::kInvalid,
          .message = "not a position in a log",
          .field = "cursor",
          .given = shortened(text),
          .allowed = "the cursor of an earlier answer"};
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<LogPlace> parse_place(std::string_view text) {
  std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 2) return std::nullopt;
  std::optional<int64_t> file = number(parts[0]);
  std::optional<int64_t> offset = number(parts[1]);
  if (!file || !offset) return std::nullopt;
  return LogPlace{.file = *file, .offset = *offset};
}

}  // namespace

std::string to_text(const LogCursor& cursor) {
  return fmt::format("{}.{}-{}.{}", cursor.out.file, cursor.out.offset, cursor.err.file, cursor.err.offset);
}

Result<LogCursor> parse_log_cursor(std::string_view text) {
  std::vector<std::string_view> parts = split(text, '-');
  std::optional<LogPlace> out = parts.size() == 2 ? parse_place(parts[0]) : std::nullopt;
  std::optional<LogPlace> err = parts.size() == 2 ? parse_place(parts[1]) : std::nullopt;
  if (!out || !err) return bad_cursor(text);
  return LogCursor{.out = *out, .err = *err};
}

Result<LogReader> LogReader::open(const std::string& data_folder, const ReplicaKey& key, const LogRequest& request) {
  Fd data = TRY(open_chosen_folder(data_folder));
  Fd attempts = TRY(open_folder_in(data, "attempts"));
  std::string path = attempt_path(key);
  for (std::string_view part : split(path, '/')) {
    Result<Fd> below = open_folder_in(attempts, std::string(part));
    bool missing = !below && below.error().code == Code::kNotFound;
    if (missing) {
      return Error{.code = Code::kNotFound,
                   .message = fmt::format("there are no logs of replica {} of attempt {} of {} on this machine",
                                          key.replica.value, key.attempt.value, to_text(key.workload))};
    }
    if (!below) return below.error();
    attempts = std::move(*below);
  }
  return open(std::move(attempts), request);
}

Result<LogReader> LogReader::open(Fd folder, const LogRequest& request) {
  LogReader reader(std::move(folder));
  TRY(reader.seek(request));
  return reader;
}

LogReader::LogReader(Fd folder) : folder_(std::make_unique<Fd>(std::move(folder))) {
  readers_.emplace_back(*folder_, LogStream::kOut);
  readers_.emplace_back(*folder_, LogStream::kErr);
}

Status LogReader::seek(const LogRequest& request) {
  only_ = request.stream;
  since_us_ = request.since_us.value_or(INT64_MIN);
  if (request.tail && (*request.tail < 0 || *request.tail > kTailMax)) {
    return Error{.code = Code::kInvalid,
                 .message = "not a number of lines",
                 .field = "tail",
                 .given = fmt::format("{}", *request.tail),
                 .allowed = fmt::format("0 to {}", kTailMax)};
  }
  int64_t found = 0;
  for (LogStream stream : {LogStream::kOut, LogStream::kErr}) {
    if (only_ && *only_ != stream) continue;
    LogStreamReader& reader = readers_[static_cast<size_t>(stream)];
    if (request.cursor) reader.seek(stream == LogStream::kOut ? request.cursor->out : request.cursor->err);
    else if (request.tail) found += reader.seek_tail(*request.tail);
    else if (request.since_us) reader.seek_time(*request.since_us);
  }
  if (!request.cursor && request.tail) skip_ = std::max<int64_t>(0, found - *request.tail);
  return {};
}

LogStreamReader* LogReader::earliest() {
  LogStreamReader* best = nullptr;
  for (LogStream stream : {LogStream::kOut, LogStream::kErr}) {
    if (only_ && *only_ != stream) continue;
    LogStreamReader& reader = readers_[static_cast<size_t>(stream)];
    const LogLine* line = reader.peek();
    if (line != nullptr && (best == nullptr || line->time_us < best->peek()->time_us)) best = &reader;
  }
  return best;
}

LogChunk LogReader::read_more(Bytes limit) {
  LogChunk chunk;
  int64_t bytes = 0;
  while (LogStreamReader* reader = earliest()) {
    if (bytes >= limit.count) {
      chunk.more = true;
      return chunk;
    }
    const LogLine& line = *reader->peek();
    bool wanted = skip_ == 0 && line.time_us >= since_us_;
    if (skip_ > 0) --skip_;
    bytes += static_cast<int64_t>(kLogPrefixBytes + line.text.size());
    if (wanted) chunk.lines.push_back(line);
    reader->pop();
  }
  return chunk;
}

LogCursor LogReader::cursor() const { return {.out = readers_[0].place(), .err = readers_[1].place()}; }

}  // namespace moulin
