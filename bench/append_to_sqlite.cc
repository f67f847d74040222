// How fast the journal appends, as a part of what bare SQLite does on the same disk.
//
//   bench_append_to_sqlite [FOLDER]
//
// Work: 160,000 events of 300 bytes in batches of 100, each batch one transaction with
// fsync (WAL, synchronous=FULL, autocheckpoint 1000, the same page size). Ours includes
// the checksum chain, time, type and workload columns, the history index and the mark;
// the limit is a table of a sequence and a blob with a prepared insert. Runs come in
// pairs, and the value is the median of the pairs' ratios, since the speed of a shared
// disk drifts from one pair to the next. FOLDER must be on a real disk; default: the current folder.
//
// measures: append_to_sqlite
// runs: 1
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "journal/sqlite_journal.h"

namespace {

using namespace moulin;

constexpr int64_t kEvents = 160'000;
constexpr int64_t kBatch = 100;
constexpr size_t kEventBytes = 300;
constexpr int kRuns = 7;
constexpr long kTmpfsMagic = 0x01021994;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// About 4,000 workloads alive at a time, six events each, thirty types.
std::vector<std::vector<JournalRecord>> make_batches() {
  Rng rng(42);
  std::vector<std::vector<JournalRecord>> batches;
  int64_t newest = 4'000;
  for (int64_t event = 0; event < kEvents; ++event) {
    if (event % kBatch == 0) batches.emplace_back();
    if (event % 6 == 0) ++newest;
    JournalRecord record;
    record.time = {1'700'000'000'000'000 + event * 50};
    record.type = static_cast<int32_t>(rng.between(1, 30));
    record.workload = {static_cast<uint64_t>(newest - rng.below(4'000)) << 20};
    record.bytes.resize(kEventBytes);
    for (char& byte : record.bytes) byte = static_cast<char>(rng.next());
    batches.back().push_back(std::move(record));
  }
  return batches;
}

double events_per_second_of_ours(const std::string& folder, const std::vector<std::vector<JournalRecord>>& batches) {
  auto opened = SqliteJournal::open(folder + "/journal.db", {});
  MOULIN_CHECK(opened.has_value(), "the journal opens");
  Journal& journal = **opened;
  const Stopwatch watch;
  for (const auto& batch : batches) {
    MOULIN_CHECK(journal.append(batch).has_value(), "the batch is durable");
  }
  return static_cast<double>(kEvents) / watch.seconds();
}

void run(sqlite3* handle, const char* sql) {
  MOULIN_CHECK(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
}

double events_per_second_of_sqlite(const std::string& folder, const std::vector<std::vector<JournalRecord>>& batches) {
  sqlite3* handle = nullptr;
  MOULIN_CHECK(sqlite3_open((folder + "/bare.db").c_str(), &handle) == SQLITE_OK, "the database opens");
  run(handle, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000");
  run(handle, "CREATE TABLE events(sequence INTEGER PRIMARY KEY, bytes BLOB)");
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(handle, "INSERT INTO events VALUES(?, ?)", -1, &insert, nullptr);
  const Stopwatch watch;
  int64_t sequence = 0;
  for (const auto& batch : batches) {
    run(handle, "BEGIN IMMEDIATE");
    for (const JournalRecord& record : batch) {
      sqlite3_bind_int64(insert, 1, ++sequence);
      sqlite3_bind_blob(insert, 2, record.bytes.data(), static_cast<int>(record.bytes.size()), SQLITE_STATIC);
      MOULIN_CHECK(sqlite3_step(insert) == SQLITE_DONE, "the row is inserted");
      sqlite3_reset(insert);
    }
    run(handle, "COMMIT");
  }
  const double seconds = watch.seconds();
  sqlite3_finalize(insert);
  sqlite3_close(handle);
  return static_cast<double>(kEvents) / seconds;
}

template <class Work>
double in_fresh_folder(const std::string& parent, Work work) {
  std::string name = parent + "/append-XXXXXX";
  MOULIN_CHECK(::mkdtemp(name.data()) != nullptr, "a folder for the run");
  const double rate = work(name);
  std::filesystem::remove_all(name);
  return rate;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string parent = argc > 1 ? argv[1] : ".";
  struct statfs about{};
  if (::statfs(parent.c_str(), &about) != 0 || about.f_type == kTmpfsMagic) {
    fmt::print(stderr, "{}: not a folder on a real disk; fsync would cost nothing there\n", parent);
    return 2;
  }
  const auto batches = make_batches();
  std::vector<double> ours;
  std::vector<double> bare;
  std::vector<double> ratios;
  for (int turn = 0; turn < kRuns; ++turn) {
    bare.push_back(
        in_fresh_folder(parent, [&](const std::string& at) { return events_per_second_of_sqlite(at, batches); }));
    ours.push_back(
        in_fresh_folder(parent, [&](const std::string& at) { return events_per_second_of_ours(at, batches); }));
    ratios.push_back(ours.back() / bare.back());
  }
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"name":"append_to_sqlite","value":{:.3f},"unit":"ratio","better":"higher","goal":0.6,"limit":1.0,)"
      R"("others":{{"lowest_pair":{:.3f},"highest_pair":{:.3f},"ours_events_per_second":{:.0f},)"
      R"("bare_sqlite_events_per_second":{:.0f},"pairs":{},)"
      R"("events":{},"batch":{},"event_bytes":{},"peak_rss_mb":{},)"
      R"("included":"chain, columns, history index, mark, fsync of each batch; not: encoding"}}}})"
      "\n",
      median(ratios), *std::ranges::min_element(ratios), *std::ranges::max_element(ratios), median(ours),
      median(bare), kRuns, kEvents, kBatch, kEventBytes, usage.ru_maxrss / 1024);
  return 0;
}
