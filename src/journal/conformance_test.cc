// One suite over every Journal: what the header of the boundary promises.
#include <atomic>
#include <thread>

#include "journal/history_query.h"
#include "journal/memory_journal.h"
#include "journal/sqlite_journal.h"
#include "journal/testing.h"

namespace moulin::testing {
namespace {

struct OnSqlite {
  TemporaryFolder folder;
  std::unique_ptr<SqliteJournal> opened = std::move(SqliteJournal::open(folder / "journal.db", {}).value());
  Journal& journal() { return *opened; }
};

struct InMemory {
  MemoryJournal made;
  Journal& journal() { return made; }
};

std::vector<int64_t> sequences_of(const Journal& journal, const HistoryQuery& query) {
  std::vector<int64_t> found;
  REQUIRE_OK(journal.history(query, [&](const StoredRecord& record) -> Status {
    found.push_back(record.sequence.value);
    return {};
  }));
  return found;
}

std::vector<int64_t> expected_of(const std::vector<JournalRecord>& all, const HistoryQuery& query) {
  std::vector<int64_t> found;
  for (auto i = static_cast<size_t>(query.after.value); i < all.size(); ++i) {
    const StoredRecord record{.sequence = {static_cast<int64_t>(i) + 1},
                              .time = all[i].time,
                              .type = all[i].type,
                              .workload = all[i].workload,
                              .bytes = all[i].bytes};
    if (matches(query, record) && std::ssize(found) < query.limit) found.push_back(record.sequence.value);
  }
  return found;
}

}  // namespace

TEST_CASE_TEMPLATE("an empty journal", On, OnSqlite, InMemory) {
  On on;
  Journal& journal = on.journal();
  CHECK(journal.last().value == 0);
  require_holds(journal, {});
  CHECK(sequences_of(journal, {}).empty());
  const auto snapshot = journal.load_snapshot(1);
  REQUIRE_OK(snapshot);
  CHECK(!snapshot->has_value());
  REQUIRE_OK(journal.append({}));
  CHECK(journal.last().value == 0);
  const auto stats = journal.stats();
  REQUIRE_OK(stats);
  CHECK(stats->records == 0);
  CHECK(stats->payload.count == 0);
}

TEST_CASE_TEMPLATE("every field comes back as it went in", On, OnSqlite, InMemory) {
  On on;
  const std::vector<JournalRecord> records{
      {.time = {0}, .type = 0, .workload = {}, .bytes = ""},
      {.time = {-5}, .type = INT32_MIN, .workload = {1}, .bytes = std::string("\0a\0", 3)},
      {.time = {INT64_MAX}, .type = INT32_MAX, .workload = {UINT64_MAX}, .bytes = std::string(100'000, '\xff')},
      {.time = {INT64_MIN}, .type = -1, .workload = {uint64_t{1} << 63}, .bytes = "x"},
  };
  REQUIRE_OK(on.journal().append(records));
  require_holds(on.journal(), records);
}

TEST_CASE_TEMPLATE("records are numbered on from the last", On, OnSqlite, InMemory) {
  On on;
  Rng rng(1);
  std::vector<JournalRecord> all;
  for (const int64_t count : {1, 7, 1, 300}) {
    const auto batch = random_records(rng, count);
    REQUIRE_OK(on.journal().append(batch));
    append_all(all, batch);
  }
  require_holds(on.journal(), all);
  const auto later = replayed(on.journal(), {8});
  REQUIRE_OK(later);
  CHECK(later->size() == 301);
  CHECK(later->front().sequence.value == 9);
  const auto none = replayed(on.journal(), {309});
  REQUIRE_OK(none);
  CHECK(none->empty());
  const auto stats = on.journal().stats();
  REQUIRE_OK(stats);
  CHECK(stats->records == 309);
  CHECK(stats->last.value == 309);
  int64_t payload = 0;
  for (const JournalRecord& record : all) payload += static_cast<int64_t>(record.bytes.size());
  CHECK(stats->payload.count == payload);
}

TEST_CASE_TEMPLATE("a record above the limit is refused, with its whole batch", On, OnSqlite, InMemory) {
  On on;
  std::vector<JournalRecord> records(2);
  records[1].bytes = std::string(static_cast<size_t>(kRecordBytesMax.count) + 1, 'x');
  const Status refused = on.journal().append(records);
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kTooLarge);
  CHECK(on.journal().last().value == 0);
  records[1].bytes.pop_back();
  REQUIRE_OK(on.journal().append(records));
  require_holds(on.journal(), records);
}

TEST_CASE_TEMPLATE("an error of the visitor ends the walk and comes back", On, OnSqlite, InMemory) {
  On on;
  Rng rng(2);
  REQUIRE_OK(on.journal().append(random_records(rng, 5)));
  int64_t visited = 0;
  const auto stop_at_three = [&](const StoredRecord&) -> Status {
    if (++visited == 3) return Error{.code = Code::kConflict, .message = "enough"};
    return {};
  };
  const Status replay = on.journal().replay({}, stop_at_three);
  REQUIRE(!replay);
  CHECK(replay.error().message == "enough");
  CHECK(visited == 3);
  visited = 0;
  const Status history = on.journal().history({}, stop_at_three);
  REQUIRE(!history);
  CHECK(history.error().code == Code::kConflict);
  CHECK(visited == 3);
}

TEST_CASE_TEMPLATE("a visitor may read and append", On, OnSqlite, InMemory) {
  On on;
  Rng rng(3);
  Journal& journal = on.journal();
  REQUIRE_OK(journal.append(random_records(rng, 3)));
  int64_t visited = 0;
  REQUIRE_OK(journal.replay({}, [&](const StoredRecord& record) -> Status {
    ++visited;
    CHECK(sequences_of(journal, {.after = {record.sequence.value - 1}, .limit = 1}).size() == 1);
    return journal.append(random_records(rng, 1));
  }));
  CHECK(visited == 3);
  CHECK(journal.last().value == 6);
}

TEST_CASE_TEMPLATE("history answers as a walk over all records would", On, OnSqlite, InMemory) {
  On on;
  Rng rng(4);
  std::vector<JournalRecord> all;
  // More than two full blocks, with an open one behind, in batches that straddle them.
  while (all.size() < 9'500) {
    const auto batch = random_records(rng, rng.between(1, 900));
    REQUIRE_OK(on.journal().append(batch));
    append_all(all, batch);
  }
  for (int round = 0; round < 300; ++round) {
    HistoryQuery query;
    query.after = {rng.below(static_cast<int64_t>(all.size()) + 10)};
    query.limit = static_cast<int32_t>(rng.chance(500) ? rng.between(1, 20) : rng.between(1, 10'000));
    if (rng.chance(600)) query.workload = WorkloadId{0xc000'0000'0000'0000 + static_cast<uint64_t>(rng.below(22))};
    const int64_t types = rng.below(4);
    for (int64_t i = 0; i < types; ++i) query.types.push_back(static_cast<int32_t>(rng.between(0, 9)));
    CHECK(sequences_of(on.journal(), query) == expected_of(all, query));
  }
}

TEST_CASE_TEMPLATE("a history query out of range is refused by field", On, OnSqlite, InMemory) {
  On on;
  const auto field_refused = [&](const HistoryQuery& query) {
    const Status refused = on.journal().history(query, [](const StoredRecord&) -> Status { return {}; });
    REQUIRE(!refused);
    CHECK(refused.error().code == Code::kInvalid);
    return refused.error().field;
  };
  CHECK(field_refused({.limit = 0}) == "limit");
  CHECK(field_refused({.limit = -1}) == "limit");
  CHECK(field_refused({.limit = 10'001}) == "limit");
  CHECK(field_refused({.after = {-1}}) == "after");
  CHECK(field_refused({.types = std::vector<int32_t>(65, 1)}) == "types");
  CHECK(sequences_of(on.journal(), {.after = {INT64_MAX}}).empty());
}

TEST_CASE_TEMPLATE("the newest three snapshots are kept", On, OnSqlite, InMemory) {
  On on;
  Rng rng(5);
  Journal& journal = on.journal();
  for (int64_t i = 1; i <= 5; ++i) {
    REQUIRE_OK(journal.append(random_records(rng, 10)));
    REQUIRE_OK(journal.save_snapshot({.sequence = {i * 10}, .format = 1, .bytes = fmt::format("state {}", i)}));
  }
  const auto stats = journal.stats();
  REQUIRE_OK(stats);
  CHECK(stats->snapshots == 3);
  CHECK(stats->newest_snapshot.value == 50);
  const auto newest = journal.load_snapshot(1);
  REQUIRE_OK(newest);
  REQUIRE(newest->has_value());
  CHECK((*newest)->sequence.value == 50);
  CHECK((*newest)->format == 1);
  CHECK((*newest)->bytes == "state 5");
}

TEST_CASE_TEMPLATE("a snapshot of a newer format is passed over", On, OnSqlite, InMemory) {
  On on;
  Rng rng(6);
  Journal& journal = on.journal();
  REQUIRE_OK(journal.append(random_records(rng, 2)));
  REQUIRE_OK(journal.save_snapshot({.sequence = {1}, .format = 3, .bytes = ""}));
  REQUIRE_OK(journal.save_snapshot({.sequence = {2}, .format = 4, .bytes = "new"}));
  const auto older = journal.load_snapshot(3);
  REQUIRE_OK(older);
  REQUIRE(older->has_value());
  CHECK((*older)->sequence.value == 1);
  CHECK((*older)->bytes.empty());
  const auto none = journal.load_snapshot(2);
  REQUIRE_OK(none);
  CHECK(!none->has_value());
}

TEST_CASE_TEMPLATE("a probe leaves the journal as it was", On, OnSqlite, InMemory) {
  On on;
  Rng rng(7);
  const auto records = random_records(rng, 4);
  REQUIRE_OK(on.journal().append(records));
  REQUIRE_OK(on.journal().probe());
  require_holds(on.journal(), records);
  const auto more = random_records(rng, 4);
  REQUIRE_OK(on.journal().append(more));
  CHECK(on.journal().last().value == 8);
}

TEST_CASE_TEMPLATE("readers beside the writer see whole batches", On, OnSqlite, InMemory) {
  On on;
  Journal& journal = on.journal();
  constexpr int64_t kBatch = 7;
  std::atomic<bool> ended = false;
  std::atomic<int64_t> failures = 0;
  const auto read = [&] {
    while (!ended) {
      int64_t seen = 0;
      const Status replay = journal.replay({}, [&](const StoredRecord& record) -> Status {
        seen = record.sequence.value;
        return {};
      });
      const Status history = journal.history({.types = {3}}, [](const StoredRecord&) -> Status { return {}; });
      if (!replay || !history || seen % kBatch != 0) ++failures;
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  Rng rng(8);
  bool appended = true;
  for (int i = 0; i < 100; ++i) appended = appended && journal.append(random_records(rng, kBatch)).has_value();
  ended = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(appended);
  CHECK(failures == 0);
  CHECK(journal.last().value == 100 * kBatch);
}

}  // namespace moulin::testing
