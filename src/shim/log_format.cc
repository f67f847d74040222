#include "shim/log_format.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/check.h"

namespace moulin {
namespace {

constexpr size_t kTimeBytes = 27;
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kTimeMax = 253'402'300'799 * kSecond;  // the end of 9999
// Where the digits of a time stand, and what stands between them.
constexpr std::string_view kTimeShape = "dddd-dd-ddTdd:dd:dd.ddddddZ";

std::string_view short_name(LogStream stream) { return stream == LogStream::kOut ? "out" : "err"; }

bool has_time_shape(std::string_view text) {
  if (text.size() != kTimeBytes) return false;
  for (size_t i = 0; i < kTimeBytes; ++i) {
    bool digit = text[i] >= '0' && text[i] <= '9';
    if (kTimeShape[i] == 'd' ? !digit : text[i] != kTimeShape[i]) return false;
  }
  return true;
}

int number_at(std::string_view text, size_t from, size_t size) {
  int value = 0;
  std::from_chars(text.data() + from, text.data() + from + size, value);
  return value;
}

}  // namespace

std::string time_text(int64_t time_us) {
  if (time_us < 0) time_us = 0;
  if (time_us > kTimeMax) time_us = kTimeMax;
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(time_us / kDay))};
  int64_t rest = time_us % kDay;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / (3600 * kSecond),
                     rest / (60 * kSecond) % 60, rest / kSecond % 60, rest % kSecond);
}

std::optional<int64_t> parse_time_text(std::string_view text) {
  if (!has_time_shape(text)) return std::nullopt;
  std::chrono::year_month_day date{std::chrono::year(number_at(text, 0, 4)),
                                   std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                                   std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2)))};
  int hour = number_at(text, 11, 2), minute = number_at(text, 14, 2), second = number_at(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kDay + (int64_t{hour} * 3600 + minute * 60 + second) * kSecond + number_at(text, 20, 6);
}

void append_record(std::string& out, const LogRecord& record) {
  // Thousands of lines share a second: only its fraction is written anew.
  thread_local int64_t known_second = -1;
  thread_local std::string known_text;
  int64_t second = record.time_us / kSecond;
  if (second != known_second || record.time_us < 0 || record.time_us > kTimeMax) {
    known_text = time_text(record.time_us);
    known_second = second;
  } else {
    fmt::format_to(known_text.begin() + 20, "{:06}", record.time_us % kSecond);
  }
  out += known_text;
  out += ' ';
  out += short_name(record.stream);
  out += record.end == LineEnd::kGoesOn ? '+' : ' ';
  out += record.text;
  out += '\n';
}

std::optional<LogRecord> parse_record(std::string_view line) {
  if (line.size() < kLogPrefixBytes || line[kTimeBytes] != ' ') return std::nullopt;
  std::optional<int64_t> time = parse_time_text(line.substr(0, kTimeBytes));
  std::string_view name = line.substr(kTimeBytes + 1, 3);
  char mark = line[kLogPrefixBytes - 1];
  if (!time || (name != "out" && name != "err") || (mark != ' ' && mark != '+')) return std::nullopt;
  return LogRecord{.time_us = *time,
                   .stream = name == "out" ? LogStream::kOut : LogStream::kErr,
                   .end = mark == '+' ? LineEnd::kGoesOn : LineEnd::kNewline,
                   .text = line.substr(kLogPrefixBytes)};
}

std::string log_file_name(LogStream stream, int64_t number) {
  return fmt::format("{}.{}.log", to_text(stream), number);
}

int64_t log_file_number(LogStream stream, std::string_view name) {
  std::string_view start = to_text(stream);
  if (!name.starts_with(start) || !name.ends_with(".log") || name.size() < start.size() + 6) return 0;
  std::string_view digits = name.substr(start.size() + 1, name.size() - start.size() - 5);
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && number > 0 && log_file_name(stream, number) == name ? number : 0;
}

}  // namespace moulin
