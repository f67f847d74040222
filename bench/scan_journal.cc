// How fast the journal is read from its start: decoded and checked against its chain.
//
//   bench_scan_journal [FOLDER]
//
// Work: replay of 1,000,000 records of 300 bytes, from the page cache, as a restart
// without a snapshot reads them before it applies them. The limit is the same walk
// with bare SQLite and no check. Medians of five runs. Also measured: opening, and a
// history query for one workload.
//
// measures: scan_journal_s
// runs: 1
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>

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

constexpr int64_t kRecords = 1'000'000;
constexpr int64_t kBatch = 5'000;
constexpr size_t kRecordBytes = 300;
constexpr int kRuns = 5;

template <class Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median of five, in seconds.
template <class Work>
double median_of(Work work) {
  std::vector<double> seconds;
  for (int turn = 0; turn < kRuns; ++turn) seconds.push_back(seconds_of(work));
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

WorkloadId workload_of(int64_t record, Rng& rng) {
  return {static_cast<uint64_t>(4'000 + record / 6 - rng.below(4'000)) << 20};
}

void fill(Journal& journal) {
  Rng rng(42);
  for (int64_t first = 0; first < kRecords; first += kBatch) {
    std::vector<JournalRecord> batch(kBatch);
    for (int64_t i = 0; i < kBatch; ++i) {
      JournalRecord& record = batch[static_cast<size_t>(i)];
      record.time = {1'700'000'000'000'000 + (first + i) * 50};
      record.type = static_cast<int32_t>(rng.between(1, 30));
      record.workload = workload_of(first + i, rng);
      record.bytes.resize(kRecordBytes);
      for (char& byte : record.bytes) byte = static_cast<char>(rng.next());
    }
    MOULIN_CHECK(journal.append(batch).has_value(), "the batch is durable");
  }
}

std::unique_ptr<SqliteJournal> opened(const std::string& path) {
  auto journal = SqliteJournal::open(path, {});
  MOULIN_CHECK(journal.has_value(), "the journal opens");
  return std::move(*journal);
}

void replay(const Journal& journal) {
  int64_t count = 0;
  const Status replayed = journal.replay({}, [&](const StoredRecord& record) -> Status {
    count += record.bytes.size() == kRecordBytes ? 1 : 0;
    return {};
  });
  MOULIN_CHECK(replayed.has_value() && count == kRecords, "every record is there");
}

void walk(const std::string& path) {
  sqlite3* handle = nullptr;
  MOULIN_CHECK(sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* select = nullptr;
  sqlite3_prepare_v2(handle, "SELECT sequence, bytes FROM records ORDER BY sequence", -1, &select, nullptr);
  int64_t count = 0;
  while (sqlite3_step(select) == SQLITE_ROW) {
    count += sqlite3_column_blob(select, 1) != nullptr ? 1 : 0;
  }
  MOULIN_CHECK(count == kRecords, "every record is there");
  sqlite3_finalize(select);
  sqlite3_close(handle);
}

double history_ms(const Journal& journal) {
  Rng rng(7);
  const double seconds = median_of([&] {
    for (int i = 0; i < 100; ++i) {
      const HistoryQuery query{.workload = workload_of(rng.below(kRecords), rng)};
      MOULIN_CHECK(journal.history(query, [](const StoredRecord&) -> Status { return {}; }).has_value());
    }
  });
  return seconds * 1'000 / 100;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/scan-XXXXXX";
  MOULIN_CHECK(::mkdtemp(folder.data()) != nullptr, "a folder for the run");
  const std::string path = folder + "/journal.db";
  fill(*opened(path));
  const double open = median_of([&] { opened(path); });
  const auto journal = opened(path);
  const double checked = median_of([&] { replay(*journal); });
  const double bare = median_of([&] { walk(path); });
  const double history = history_ms(*journal);
  std::filesystem::remove_all(folder);
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"name":"scan_journal_s","value":{:.3f},"unit":"s","better":"lower","goal":2.5,"limit":{:.3f},)"
      R"("others":{{"records":{},"record_bytes":{},"open_s":{:.4f},"history_of_workload_ms":{:.3f},"runs":{},)"
      R"("peak_rss_mb":{},"included":"reading, decoding the columns, chain; not: decoding events"}}}})"
      "\n",
      checked, bare, kRecords, kRecordBytes, open, history, kRuns, usage.ru_maxrss / 1024);
  return 0;
}
