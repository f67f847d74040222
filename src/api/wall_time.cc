#include "api/wall_time.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/text.h"

namespace moulin {

namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr int64_t kUsPerDay = 86'400'000'000;

Error not_a_time(std::string_view given) {
  return {.code = Code::kInvalid,
          .message = "not a time",
          .given = shortened(given),
          .allowed = "RFC 3339, e.g. 2026-03-01T09:30:00Z",
          .to_do = "in an URL write the + of an offset as %2B"};
}

// Reads fixed forms from the front of a text; ok() turns false at the first mismatch.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(size_t count) {
    int value = 0;
    const std::string_view text = rest_.substr(0, count);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    ok_ = ok_ && text.size() == count && error == std::errc{} && end == text.data() + count && text[0] != '-';
    rest_.remove_prefix(text.size());
    return value;
  }
  char one_of(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) {
      ok_ = false;
      return '\0';
    }
    const char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }
  // ".25" as microseconds, if it is there.
  int64_t fraction() {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    int64_t us = 0;
    size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      if (count < 6) us = us * 10 + (rest_[count] - '0');
    }
    ok_ = ok_ && count >= 1 && count <= 9;
    for (size_t i = count; i < 6; ++i) us *= 10;
    rest_.remove_prefix(count);
    return us;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// The offset from UTC in minutes: "Z", "+02:00".
int64_t scan_offset(Scanner& scanner) {
  const char sign = scanner.one_of("Zz+-");
  if (sign == 'Z' || sign == 'z') return 0;
  const int hours = scanner.digits(2);
  scanner.one_of(":");
  const int minutes = scanner.digits(2);
  return (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

std::string to_text(WallTime time) {
  const int64_t days = time.us >= 0 ? time.us / kUsPerDay : -((kUsPerDay - 1 - time.us) / kUsPerDay);
  const int64_t in_day = time.us - days * kUsPerDay;
  const year_month_day date{sys_days{std::chrono::days{days}}};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), in_day / 3'600'000'000,
                     in_day / 60'000'000 % 60, in_day / 1'000'000 % 60, in_day % 1'000'000);
}

Result<WallTime> parse_wall_time(std::string_view text) {
  Scanner scanner(text);
  const int years = scanner.digits(4);
  scanner.one_of("-");
  const int months = scanner.digits(2);
  scanner.one_of("-");
  const int days = scanner.digits(2);
  scanner.one_of("Tt ");
  const int hours = scanner.digits(2);
  scanner.one_of(":");
  const int minutes = scanner.digits(2);
  scanner.one_of(":");
  const int seconds = scanner.digits(2);
  const int64_t us = scanner.fraction();
  const int64_t offset_minutes = scan_offset(scanner);
  if (!scanner.at_end() || years < 1970 || hours > 23 || minutes > 59 || seconds > 60) return not_a_time(text);
  const year_month_day date{year{years}, month{static_cast<unsigned>(months)}, day{static_cast<unsigned>(days)}};
  if (!date.ok() || std::abs(offset_minutes) > 24 * 60) return not_a_time(text);
  const int64_t day_count = sys_days{date}.time_since_epoch().count();
  const int64_t in_day = ((hours * 60 + minutes - offset_minutes) * 60 + seconds) * 1'000'000 + us;
  return WallTime{day_count * kUsPerDay + in_day};
}

std::string decimal_of_millionths(int64_t millionths) {
  std::string text = fmt::format("{}.{:06}", millionths / 1'000'000, std::abs(millionths % 1'000'000));
  if (millionths < 0 && !text.starts_with('-')) text.insert(text.begin(), '-');
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Result<int64_t> parse_millionths(std::string_view text) {
  const Error bad{.code = Code::kInvalid,
                  .message = "not an amount",
                  .given = shortened(text),
                  .allowed = "a decimal number of at most six digits after the point, not negative"};
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  const auto is_digits = [](std::string_view digits) {
    return !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!is_digits(whole) || whole.size() > 12 || fraction.size() > 6) return bad;
  if (point < text.size() && !is_digits(fraction)) return bad;
  fraction.resize(6, '0');
  return std::stoll(std::string(whole)) * 1'000'000 + std::stoll(fraction);
}

}  // namespace moulin
