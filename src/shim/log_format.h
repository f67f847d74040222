// The lines of a log file, written by the shim and read by the engine.
//
//   2025-12-01T06:23:00.123456Z out epoch 1 loss 0.52
//   2025-12-01T06:23:00.623456Z out+Downloading 10%
//
// 27 bytes of time (UTC, microseconds, when the bytes arrived), a blank, "out" or "err",
// then a blank, or '+' when the text goes on in the next record (it was longer than
// kLogTextMax, or no newline came for a while), then the text as the program wrote it,
// whatever its bytes, and a newline. Files are <stream>.<number>.log, counted from 1
// without reuse; the highest number is the newest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_text.h"

namespace moulin {

enum class LogStream { kOut, kErr };
template <>
inline constexpr auto kWords<LogStream> = std::to_array<std::string_view>({"stdout", "stderr"});

inline constexpr size_t kLogPrefixBytes = 32;
inline constexpr size_t kLogTextMax = 16 * 1024;

enum class LineEnd { kNewline, kGoesOn };

struct LogRecord {
  int64_t time_us = 0;  // since 1970, UTC
  LogStream stream = LogStream::kOut;
  LineEnd end = LineEnd::kNewline;
  std::string_view text;  // without newline
};

// Appends the record as a line. The text holds no newline.
void append_record(std::string& out, const LogRecord& record);
// The record of a line without its newline; nothing when it is none.
std::optional<LogRecord> parse_record(std::string_view line);

// "2025-12-01T06:23:00.123456Z". Years 1970 to 9999.
std::string time_text(int64_t time_us);
std::optional<int64_t> parse_time_text(std::string_view text);

std::string log_file_name(LogStream stream, int64_t number);
// The number of a log file of this stream; 0 for any other name.
int64_t log_file_number(LogStream stream, std::string_view name);

}  // namespace moulin
