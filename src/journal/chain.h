// The checksum that chains each record to all before it.
//
// A record's chain is the BLAKE2b-128 hash of the chain before it and of every field of
// the record. The chain before record 1 is made from the journal's own random number,
// so that records of two journals never fit together. The layout of the hashed bytes is
// in docs/journal_format.md and never changes within a format version.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "boundary/journal.h"

namespace moulin {

struct Chain {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const Chain&) const = default;
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Drawn at random when a journal is created; tells journals and their snapshots apart.
struct JournalNumber {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const JournalNumber&) const = default;
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

JournalNumber draw_journal_number();

// Chain or JournalNumber from exactly 16 bytes; anything shorter or longer is all zero,
// which no hash will be.
std::array<uint8_t, 16> sixteen_bytes(std::string_view bytes);

// The chain before record 1.
Chain first_chain(const JournalNumber& number);

// The chain of `record`, which follows the one with chain `previous`.
Chain next_chain(const Chain& previous, const StoredRecord& record);

// BLAKE2b-128 of arbitrary bytes: for snapshots and the mark.
Chain checksum_of(std::string_view bytes);

// `value` as 8 bytes, lowest first, at the end of `out`; and back. read_number needs 8
// bytes from `at` on.
void append_number(std::string& out, int64_t value);
int64_t read_number(std::string_view bytes, size_t at);

}  // namespace moulin
