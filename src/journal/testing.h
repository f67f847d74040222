// For the tests of this folder: temporary folders, records, and reading them back.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "boundary/journal.h"

// Fails the test with the Error's text.
#define REQUIRE_OK(expression)                                                                         \
  do {                                                                                                 \
    const auto& required_ok = (expression);                                                            \
    REQUIRE_MESSAGE(required_ok.has_value(), (required_ok ? std::string() : required_ok.error().to_text())); \
  } while (false)

namespace moulin::testing {

// In memory where there is such a place: fsync on a real disk is slow and proves no more
// here. What a loss of power does is simulated (fault_vfs.h).
inline std::filesystem::path fast_folder() {
  std::error_code error;
  const bool there = std::filesystem::is_directory("/dev/shm", error);
  return there ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
}

// An empty folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = fast_folder()) {
    std::string name = (parent / "moulin-journal-XXXXXX").string();
    MOULIN_CHECK(::mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// A record as read back, with bytes of its own.
struct ReadRecord {
  Sequence sequence;
  JournalRecord record;
};

inline bool same(const JournalRecord& a, const JournalRecord& b) {
  return a.time == b.time && a.type == b.type && a.workload == b.workload && a.bytes == b.bytes;
}

inline ReadRecord copy_of(const StoredRecord& stored) {
  return {.sequence = stored.sequence,
          .record = {.time = stored.time,
                     .type = stored.type,
                     .workload = stored.workload,
                     .bytes = std::string(stored.bytes)}};
}

// Some 20 workloads and 8 types; about every fifth record is of no workload.
inline JournalRecord random_record(Rng& rng) {
  JournalRecord record;
  record.time = {rng.between(-1'000'000, 1'000'000'000'000)};
  record.type = static_cast<int32_t>(rng.between(1, 8));
  if (!rng.chance(200)) record.workload = {0xc000'0000'0000'0000 + static_cast<uint64_t>(rng.below(20))};
  const int64_t size = rng.chance(20) ? rng.between(4'000, 20'000) : rng.between(0, 60);
  for (int64_t i = 0; i < size; ++i) record.bytes.push_back(static_cast<char>(rng.below(256)));
  return record;
}

inline std::vector<JournalRecord> random_records(Rng& rng, int64_t count) {
  std::vector<JournalRecord> records;
  for (int64_t i = 0; i < count; ++i) records.push_back(random_record(rng));
  return records;
}

inline Result<std::vector<ReadRecord>> replayed(const Journal& journal, Sequence after = {}) {
  std::vector<ReadRecord> records;
  TRY(journal.replay(after, [&](const StoredRecord& record) -> Status {
    records.push_back(copy_of(record));
    return {};
  }));
  return records;
}

// The journal holds exactly these, from record 1.
inline void require_holds(const Journal& journal, const std::vector<JournalRecord>& expected) {
  const Result<std::vector<ReadRecord>> found = replayed(journal);
  REQUIRE_OK(found);
  REQUIRE(found->size() == expected.size());
  REQUIRE(journal.last().value == static_cast<int64_t>(expected.size()));
  size_t equal = 0;
  while (equal < expected.size() && (*found)[equal].sequence.value == static_cast<int64_t>(equal) + 1 &&
         same((*found)[equal].record, expected[equal])) {
    ++equal;
  }
  REQUIRE(equal == expected.size());  // else record `equal` + 1 differs
}

inline void append_all(std::vector<JournalRecord>& all, const std::vector<JournalRecord>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace moulin::testing
