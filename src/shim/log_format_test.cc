#include "shim/log_format.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

constexpr int64_t kSomeTime = 1'764'570'180'123'456;  // 2025-12-01T06:23:00.123456Z

TEST_CASE("times as text and back") {
  CHECK(time_text(kSomeTime) == "2025-12-01T06:23:00.123456Z");
  CHECK(time_text(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(time_text(-5) == "1970-01-01T00:00:00.000000Z");
  CHECK(time_text(INT64_MAX) == "9999-12-31T23:59:59.000000Z");
  for (int64_t time : {int64_t{0}, kSomeTime, int64_t{951'782'400'000'001}}) {
    CHECK(parse_time_text(time_text(time)) == time);
  }
  for (const char* bad : {"", "2025-12-01", "2025-12-01T06:23:00.123456", "2025-13-01T06:23:00.123456Z",
                          "2025-02-30T06:23:00.123456Z", "2025-12-01T24:00:00.000000Z",
                          "2025-12-01 06:23:00.123456Z"}) {
    CHECK_FALSE(parse_time_text(bad));
  }
}

TEST_CASE("records as lines and back") {
  for (LogStream stream : {LogStream::kOut, LogStream::kErr}) {
    for (LineEnd end : {LineEnd::kNewline, LineEnd::kGoesOn}) {
      std::string line;
      append_record(line, {.time_us = kSomeTime, .stream = stream, .end = end, .text = "out err+ x\xff"});
      REQUIRE(line.back() == '\n');
      line.pop_back();
      std::optional<LogRecord> record = parse_record(line);
      REQUIRE(record);
      CHECK(record->time_us == kSomeTime);
      CHECK(record->stream == stream);
      CHECK(record->end == end);
      CHECK(record->text == "out err+ x\xff");
    }
  }
  std::string lines;
  append_record(lines, {.time_us = kSomeTime, .text = "a"});
  append_record(lines, {.time_us = kSomeTime + 7, .text = "b"});
  CHECK(lines == "2025-12-01T06:23:00.123456Z out a\n2025-12-01T06:23:00.123463Z out b\n");
}

TEST_CASE("lines that are no records") {
  for (const char* bad : {"", "hello", "2025-12-01T06:23:00.123456Z", "2025-12-01T06:23:00.123456Z abc x",
                          "2025-12-01T06:23:00.123456Z out-x", "2025-12-01T06:23:00.123456Zxout x"}) {
    CHECK_FALSE(parse_record(bad));
  }
}

TEST_CASE("names of log files") {
  CHECK(log_file_name(LogStream::kErr, 12) == "stderr.12.log");
  CHECK(log_file_number(LogStream::kErr, "stderr.12.log") == 12);
  for (const char* other : {"stdout.12.log", "stderr.log", "stderr..log", "stderr.0.log", "stderr.012.log",
                            "stderr.-1.log", "stderr.1.log.gz", "stderr.1x.log", "",
                            "stderr.99999999999999999999.log"}) {
    CHECK(log_file_number(LogStream::kErr, other) == 0);
  }
}

}  // namespace
}  // namespace moulin
