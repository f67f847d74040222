#include "journal/chain.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"

namespace moulin {
namespace {

// previous chain, sequence, time, type, workload, size of bytes
constexpr size_t kHeaderBytes = 16 + 5 * 8;

uint8_t* put_number(uint8_t* out, uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) *out++ = static_cast<uint8_t>(value >> (8 * byte));
  return out;
}

void start_sodium() {
  static const int kStarted = sodium_init();
  MOULIN_CHECK(kStarted >= 0, "libsodium starts");
}

const uint8_t* data_of(std::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

}  // namespace

JournalNumber draw_journal_number() {
  start_sodium();
  JournalNumber number;
  randombytes_buf(number.bytes.data(), number.bytes.size());
  return number;
}

std::array<uint8_t, 16> sixteen_bytes(std::string_view bytes) {
  std::array<uint8_t, 16> out{};
  if (bytes.size() == out.size()) std::memcpy(out.data(), bytes.data(), out.size());
  return out;
}

Chain first_chain(const JournalNumber& number) { return checksum_of(number.view()); }

Chain next_chain(const Chain& previous, const StoredRecord& record) {
  start_sodium();
  std::array<uint8_t, kHeaderBytes> header;
  std::memcpy(header.data(), previous.bytes.data(), previous.bytes.size());
  uint8_t* out = header.data() + previous.bytes.size();
  out = put_number(out, static_cast<uint64_t>(record.sequence.value));
  out = put_number(out, static_cast<uint64_t>(record.time.us));
  out = put_number(out, static_cast<uint64_t>(int64_t{record.type}));
  out = put_number(out, record.workload.number);
  put_number(out, record.bytes.size());

  crypto_generichash_state state;
  Chain chain;
  crypto_generichash_init(&state, nullptr, 0, chain.bytes.size());
  crypto_generichash_update(&state, header.data(), header.size());
  crypto_generichash_update(&state, data_of(record.bytes), record.bytes.size());
  crypto_generichash_final(&state, chain.bytes.data(), chain.bytes.size());
  return chain;
}

Chain checksum_of(std::string_view bytes) {
  start_sodium();
  Chain chain;
  crypto_generichash(chain.bytes.data(), chain.bytes.size(), data_of(bytes), bytes.size(), nullptr, 0);
  return chain;
}

void append_number(std::string& out, int64_t value) {
  std::array<uint8_t, 8> bytes;
  put_number(bytes.data(), static_cast<uint64_t>(value));
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

int64_t read_number(std::string_view bytes, size_t at) {
  MOULIN_CHECK(at + 8 <= bytes.size(), "eight bytes are there");
  uint64_t value = 0;
  for (size_t byte = 8; byte-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[at + byte]);
  return static_cast<int64_t>(value);
}

}  // namespace moulin
