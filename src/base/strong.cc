#include "base/strong.h"

#include "base/text.h"

namespace moulin {

namespace {
constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr size_t kDigits = 13;  // 13 x 5 bits >= 64 bits
}  // namespace

std::string id_text(std::string_view prefix, uint64_t number) {
  std::string text(prefix);
  for (size_t i = 0; i < kDigits; ++i) text += kAlphabet[(number >> (5 * (kDigits - 1 - i))) & 31];
  return text;
}

Result<uint64_t> parse_id(std::string_view prefix, std::string_view text) {
  Error malformed{.code = Code::kInvalid,
                  .message = "not an id",
                  .given = shortened(text),
                  .allowed = std::string(prefix) + " and 13 letters and digits"};
  if (!text.starts_with(prefix) || text.size() != prefix.size() + kDigits) return malformed;
  uint64_t number = 0;
  for (size_t i = 0; i < kDigits; ++i) {
    size_t digit = kAlphabet.find(text[prefix.size() + i]);
    if (digit == std::string_view::npos || (i == 0 && digit > 15)) return malformed;
    number = number << 5 | digit;
  }
  return number;
}

}  // namespace moulin
