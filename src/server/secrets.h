// Random names: ids, tokens and their hashes. The only file of the server that knows
// libsodium.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "model/identity.h"

namespace moulin {

// Ids that grow with time and do not repeat: 42 bits of milliseconds, 22 random bits.
// Thread-safe.
class IdMaker {
 public:
  // `last` is at least every id given before; `wall` is wall time since 1970.
  explicit IdMaker(uint64_t last) : last_(last) {}
  uint64_t next(Duration wall);

 private:
  std::mutex mutex_;
  uint64_t last_;
};

// `bytes` random bytes in hexadecimal.
std::string random_hex(size_t bytes);

// BLAKE2b-256, raw.
std::string hash_of(std::string_view text);

// A token as its holder has it: "moulin_<id>_<secret>". Shown once, never stored.
struct NewToken {
  Token token;  // with the hash
  std::string text;
};
NewToken make_token(TokenId id, const UserName& user);

// The parts of a token's text; kUnauthenticated when it is none.
struct TokenText {
  TokenId id;
  std::string hash;  // of the whole text
};
Result<TokenText> parse_token(std::string_view text);

// In constant time.
bool equal_hashes(std::string_view a, std::string_view b);

}  // namespace moulin
