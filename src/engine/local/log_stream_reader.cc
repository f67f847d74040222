#include "engine/local/log_stream_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace moulin {
namespace {

// Longer lines are none of the shim's; they are cut.
constexpr size_t kLineMax = kLogPrefixBytes + kLogTextMax + 1;

ssize_t read_at(const Fd& file, char* buffer, int64_t offset) {
  while (true) {
    ssize_t got = ::pread(file.number(), buffer, LogStreamReader::kBlock, offset);
    if (got >= 0 || errno != EINTR) return got;
  }
}

std::optional<int64_t> first_time(const Fd& file) {
  char buffer[LogStreamReader::kBlock];
  ssize_t got = read_at(file, buffer, 0);
  if (got < static_cast<ssize_t>(kLogPrefixBytes)) return std::nullopt;
  std::optional<LogRecord> record = parse_record({buffer, kLogPrefixBytes});
  return record ? std::optional(record->time_us) : std::nullopt;
}

// How many newlines are in a file, from its end, at most `count`; and where the last one
// that was not counted ends.
struct TailPart {
  int64_t records = 0;
  int64_t offset = 0;
};
TailPart tail_of(const Fd& file, int64_t count) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return {};
  TailPart part;
  char buffer[LogStreamReader::kBlock];
  for (int64_t end = facts.st_size; end > 0;) {
    int64_t from = std::max<int64_t>(0, end - static_cast<int64_t>(sizeof buffer));
    ssize_t got = std::min<ssize_t>(read_at(file, buffer, from), end - from);
    for (ssize_t i = got - 1; i >= 0; --i) {
      if (buffer[i] != '\n') continue;
      if (part.records == count) return {.records = count, .offset = from + i + 1};
      ++part.records;
    }
    end = from;
  }
  return part;
}

}  // namespace

std::vector<int64_t> LogStreamReader::numbers() const {
  std::vector<int64_t> found;
  Fd copy(::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy.number()), ::closedir);
  if (!entries) return found;
  copy.release();
  while (const dirent* entry = ::readdir(entries.get())) {
    if (int64_t number = log_file_number(stream_, entry->d_name); number > 0) found.push_back(number);
  }
  std::ranges::sort(found);
  return found;
}

Fd LogStreamReader::open_file(int64_t number) const {
  // O_NONBLOCK: a named pipe in place of the file must not hold us up.
  Fd file(::openat(folder_.number(), log_file_name(stream_, number).c_str(),
                   O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file && (::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode))) file.reset();
  return file;
}

bool LogStreamReader::open(int64_t number) {
  Fd file = open_file(number);
  if (!file) return false;
  file_ = std::move(file);
  here_ = {.file = number};
  buffer_.clear();
  return true;
}

bool LogStreamReader::open_following() {
  for (int64_t number : numbers()) {
    // Between our last look and now the shim may have written more before it went on to
    // the next file.
    if (number > here_.file && (fill() || open(number))) return true;
  }
  return false;
}

void LogStreamReader::seek(LogPlace place) {
  next_.reset();
  buffer_.clear();
  file_.reset();
  here_ = place;
  // A file that is gone by now is passed over: the next fill() finds the one after it.
  if (place.file > 0 && open(place.file)) here_.offset = std::max<int64_t>(place.offset, 0);
}

void LogStreamReader::seek_time(int64_t time_us) {
  seek({});
  std::vector<int64_t> files = numbers();
  for (auto number = files.rbegin(); number != files.rend(); ++number) {
    Fd file = open_file(*number);
    if (!file || first_time(file).value_or(time_us) >= time_us) continue;
    return seek({.file = *number});
  }
}

int64_t LogStreamReader::seek_tail(int64_t count) {
  seek({});
  std::vector<int64_t> files = numbers();
  int64_t records = 0;
  for (auto number = files.rbegin(); number != files.rend(); ++number) {
    Fd file = open_file(*number);
    if (!file) continue;
    TailPart part = tail_of(file, count - records);
    records += part.records;
    if (records < count) continue;
    seek({.file = *number, .offset = part.offset});
    break;
  }
  return records;
}

bool LogStreamReader::fill() {
  char block[kBlock];
  ssize_t got = file_ ? read_at(file_, block, here_.offset + static_cast<int64_t>(buffer_.size())) : 0;
  if (got <= 0) return false;
  buffer_.append(block, static_cast<size_t>(got));
  return true;
}

const LogLine* LogStreamReader::peek() {
  while (!next_) {
    size_t newline = buffer_.find('\n');
    if (newline != buffer_.npos || buffer_.size() >= kLineMax) {
      size_t size = std::min(newline, kLineMax);
      std::string line = buffer_.substr(0, size);
      size_t bytes = newline == size ? size + 1 : size;
      buffer_.erase(0, bytes);
      take_line(line, static_cast<int64_t>(bytes));
    } else if (!fill()) {
      // What is left without a newline will be completed, or was torn and is then lost
      // when the shim goes on with the next file.
      if (!open_following()) return nullptr;
    }
  }
  return &*next_;
}

void LogStreamReader::take_line(std::string_view line, int64_t bytes) {
  before_next_ = here_;
  here_.offset += bytes;
  if (line.empty()) return;
  if (std::optional<LogRecord> record = parse_record(line)) {
    last_time_us_ = record->time_us;
    next_ = LogLine{
        .time_us = record->time_us, .stream = stream_, .end = record->end, .text = std::string(record->text)};
  } else {
    // Torn by a full disk, or written by somebody else.
    next_ = LogLine{.time_us = last_time_us_, .stream = stream_, .end = LineEnd::kNewline, .text = std::string(line)};
  }
}

}  // namespace moulin
