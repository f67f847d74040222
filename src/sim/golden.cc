#include "sim/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/codec.h"
#include "base/json.h"
#include "base/text.h"
#include "core/apply.h"
#include "sim/random_driver.h"

namespace moulin {

namespace {

constexpr int64_t kGoldenEvents = 2'500;
constexpr uint64_t kSeedsMax = 1'000;

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

Error damaged(std::string message) { return {.code = Code::kInternal, .message = std::move(message)}; }

Result<std::string> from_hex(std::string_view hex) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    int high = digit(hex[i]);
    int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return damaged("not hexadecimal");
    bytes += static_cast<char>(high * 16 + low);
  }
  if (hex.size() % 2 != 0) return damaged("half a byte");
  return bytes;
}

Result<int64_t> read_number(std::string_view text) {
  Result<int64_t> number = Json(JsonNumber{std::string(text)}).integer();
  return number ? number : damaged("not a number: " + shortened(text));
}

Result<Event> read_line(std::string_view line) {
  std::vector<std::string_view> parts = split(line, ' ');
  if (parts.size() != 3) return damaged("a line of the journal has three parts");
  int64_t at = TRY(read_number(parts[0]));
  int64_t type = TRY(read_number(parts[1]));
  std::string bytes = TRY(from_hex(parts[2]));
  return decode_event(Instant{at}, static_cast<int32_t>(type), bytes);
}

template <size_t I = 0>
void each_word(auto&& use) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    use(std::variant_alternative_t<I, EventBody>::kWord);
    each_word<I + 1>(use);
  }
}

RandomResult run_with_everything() {
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    RandomResult result = run_random({.seed = seed, .events = kGoldenEvents});
    MOULIN_CHECK(result.violation.empty(), result.violation);
    if (missing_types(result.journal).empty()) return result;
  }
  MOULIN_CHECK(false, "no seed makes every type of event");
  MOULIN_UNREACHABLE();
}

}  // namespace

std::vector<std::string> missing_types(const std::vector<Event>& journal) {
  std::set<std::string_view> seen;
  for (const Event& event : journal) seen.insert(event_word(event.body));
  std::vector<std::string> missing;
  each_word([&](std::string_view word) {
    if (!seen.contains(word)) missing.emplace_back(word);
  });
  return missing;
}

GoldenFiles make_golden() {
  RandomResult result = run_with_everything();
  GoldenFiles files{.state = to_hex(encode(result.state)) + "\n"};
  for (const Event& event : result.journal)
    files.journal += fmt::format("{} {} {}\n", event.at.us, event_type(event.body), to_hex(encode_event(event)));
  return files;
}

Status check_golden(const GoldenFiles& files) {
  State state;
  int64_t number = 0;
  for (std::string_view line : split(files.journal, '\n')) {
    if (line.empty()) continue;
    ++number;
    Result<Event> event = read_line(line);
    if (!event) return damaged(fmt::format("line {}: {}", number, event.error().to_text()));
    apply(state, *event);
  }
  std::string_view hex = files.state;
  if (hex.ends_with('\n')) hex.remove_suffix(1);
  std::string bytes = TRY(from_hex(hex));
  State expected = TRY(decode<State>(bytes));
  if (encode(state) == encode(expected)) return {};
  return damaged(fmt::format("after {} events the state is another one", number));
}

}  // namespace moulin
