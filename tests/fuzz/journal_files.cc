// layers: base model boundary journal
// A sound journal with a snapshot, of which a few bytes are then others. Each 4 bytes of the
// input are one change: which file, where (two bytes), and what. Whatever happens to the
// files, a record is read as it was written or not at all, and nothing crashes.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "journal/sqlite_journal.h"
#include "journal/verify.h"
#include "shim/temporary_folder.h"

namespace {

using namespace moulin;
namespace files = std::filesystem;

constexpr int64_t kRecords = 20;
constexpr std::array kFiles{"journal.db", "journal.db-mark", "journal.db-snapshots/snapshot-00000000000000000012.bin"};

std::string bytes_of(int64_t sequence) { return "record number " + std::to_string(sequence); }

// Made once, in the order of kFiles.
const std::array<std::string, kFiles.size()>& sound_files() {
  static const auto made = [] {
    testing::TemporaryFolder folder;
    {
      auto journal = SqliteJournal::open(folder / "journal.db", {});
      MOULIN_CHECK(journal.has_value());
      for (int64_t i = 1; i <= kRecords; ++i) {
        MOULIN_CHECK((*journal)->append({{.time = {i}, .type = 1, .workload = {7}, .bytes = bytes_of(i)}}));
        if (i == 12) MOULIN_CHECK((*journal)->save_snapshot({.sequence = {i}, .format = 1, .bytes = "a state"}));
      }
    }
    std::array<std::string, kFiles.size()> contents;
    for (size_t i = 0; i < kFiles.size(); ++i) contents[i] = testing::text_of_file(folder / kFiles[i]);
    return contents;
  }();
  return made;
}

void read_all(const std::string& path) {
  auto journal = SqliteJournal::open(path, {});
  if (!journal) return;
  int64_t next = 1;
  Status read = (*journal)->replay({}, [&](const StoredRecord& record) -> Status {
    MOULIN_CHECK(record.sequence.value == next && record.bytes == bytes_of(next), "a record is not what was written");
    ++next;
    return {};
  });
  MOULIN_CHECK(!read || next == (*journal)->last().value + 1, "records are missing");
  if (auto snapshot = (*journal)->load_snapshot(1); snapshot && *snapshot)
    MOULIN_CHECK((*snapshot)->bytes == "a state", "a snapshot is not what was saved");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<std::string, kFiles.size()> contents = sound_files();
  for (size_t at = 0; at + 4 <= size; at += 4) {
    std::string& content = contents[data[at] % kFiles.size()];
    size_t where = static_cast<size_t>(data[at + 1]) * 256 + data[at + 2];
    if (!content.empty()) content[where % content.size()] = static_cast<char>(data[at + 3]);
  }
  testing::TemporaryFolder folder;
  files::create_directory(folder / "journal.db-snapshots");
  for (size_t i = 0; i < kFiles.size(); ++i) std::ofstream(folder / kFiles[i], std::ios::binary) << contents[i];
  static_cast<void>(verify_journal(folder / "journal.db"));
  read_all(folder / "journal.db");
  return 0;
}
