#include "server/secrets.h"

#include <sodium.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace moulin {

namespace {

constexpr size_t kSecretBytes = 32;
constexpr std::string_view kPrefix = "moulin_";

void start_sodium() {
  static const bool started = sodium_init() >= 0;
  MOULIN_CHECK(started, "libsodium does not start");
}

}  // namespace

uint64_t IdMaker::next(Duration wall) {
  start_sodium();
  uint64_t candidate = static_cast<uint64_t>(wall.us / 1000) << 22 | randombytes_uniform(1U << 22);
  std::lock_guard lock(mutex_);
  last_ = std::max(last_ + 1, candidate);
  return last_;
}

std::string random_hex(size_t bytes) {
  start_sodium();
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string raw(bytes, '\0');
  randombytes_buf(raw.data(), raw.size());
  std::string text;
  for (char c : raw) {
    text += kHex[static_cast<unsigned char>(c) >> 4];
    text += kHex[static_cast<unsigned char>(c) & 15];
  }
  sodium_memzero(raw.data(), raw.size());
  return text;
}

std::string hash_of(std::string_view text) {
  start_sodium();
  std::string hash(crypto_generichash_BYTES, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return hash;
}

NewToken make_token(TokenId id, const UserName& user) {
  std::string text = std::string(kPrefix) + to_text(id) + "_" + random_hex(kSecretBytes);
  return {.token = {.id = id, .user = user, .hash = hash_of(text), .label = {}, .issued = {}}, .text = text};
}

Result<TokenText> parse_token(std::string_view text) {
  Error refused{.code = Code::kUnauthenticated,
                .message = "no valid token",
                .to_do = "set MOULIN_TOKEN or MOULIN_TOKEN_FILE; `moulin up` names the administrator's token file"};
  if (!text.starts_with(kPrefix) || text.size() > 200) return refused;
  std::vector<std::string_view> parts = split(text.substr(kPrefix.size()), '_');
  if (parts.size() != 2) return refused;
  Result<uint64_t> id = parse_id(TokenTag::kPrefix, parts[0]);
  if (!id) return refused;
  return TokenText{.id = {*id}, .hash = hash_of(text)};
}

bool equal_hashes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace moulin
