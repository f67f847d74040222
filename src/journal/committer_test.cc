#include "journal/committer.h"

#include <memory>
#include <mutex>

#include "journal/gated_journal.h"
#include "journal/testing.h"

namespace moulin::testing {
namespace {

// Opens the gate when a test ends early, so that it fails instead of waiting for ever.
struct OpenAtEnd {
  GatedJournal& journal;
  ~OpenAtEnd() { journal.open(); }
};

// What the callbacks told, in order, and a way to wait for them.
class Outcomes {
 public:
  Committer::Done done(std::string name) {
    return [this, name = std::move(name)](const Result<Sequence>& last) {
      tell(last ? fmt::format("{}: {}", name, last->value) : fmt::format("{}: {}", name, to_text(last.error().code)));
    };
  }
  Committer::Resumed resumed() {
    return [this](const Status& status) { tell(status ? "resumed" : "still broken"); };
  }
  std::vector<std::string> await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.size() >= count; });
    return told_;
  }

 private:
  void tell(std::string outcome) {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(outcome));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

std::vector<JournalRecord> records(int64_t count) {
  std::vector<JournalRecord> made(static_cast<size_t>(count));
  for (JournalRecord& record : made) record.bytes = "event";
  return made;
}

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a lone batch is committed at once and told its last sequence") {
  MemoryJournal journal;
  Outcomes outcomes;
  Committer committer(journal);
  committer.start();
  REQUIRE_OK(committer.submit(records(3), outcomes.done("a")));
  CHECK(outcomes.await(1) == Told{"a: 3"});
  REQUIRE_OK(committer.submit({}, outcomes.done("barrier")));
  CHECK(outcomes.await(2) == Told{"a: 3", "barrier: 3"});
  REQUIRE_OK(committer.submit(records(2), outcomes.done("b")));
  CHECK(outcomes.await(3).back() == "b: 5");
  CHECK(journal.last().value == 5);
}

TEST_CASE("batches that pile up share an append and keep their order") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  Committer committer(journal);
  committer.start();
  const OpenAtEnd end{journal};
  REQUIRE_OK(committer.submit(records(1), outcomes.done("first")));
  journal.await_append();
  REQUIRE_OK(committer.submit(records(2), outcomes.done("a")));
  REQUIRE_OK(committer.submit({}, outcomes.done("b")));
  REQUIRE_OK(committer.submit(records(3), outcomes.done("c")));
  CHECK(committer.stats().queued == 3);
  journal.open();
  CHECK(outcomes.await(4) == Told{"first: 1", "a: 3", "b: 3", "c: 6"});
  const CommitterStats stats = committer.stats();
  CHECK(stats.groups == 2);
  CHECK(stats.batches == 4);
  CHECK(stats.queued == 0);
}

TEST_CASE("a group is bounded by records and bytes, a larger batch goes alone") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  Committer committer(journal, {.group_records_max = 4, .group_bytes_max = Bytes{25}});
  committer.start();
  const OpenAtEnd end{journal};
  REQUIRE_OK(committer.submit(records(1), outcomes.done("first")));
  journal.await_append();
  for (const int64_t count : {2, 2, 1, 9, 1}) REQUIRE_OK(committer.submit(records(count), outcomes.done("x")));
  journal.open();
  CHECK(outcomes.await(6).back() == "x: 16");
  CHECK(committer.stats().groups == 5);  // first | 2 2 | 1 | 9 | 1
}

TEST_CASE("the queue is bounded by batches") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  Committer committer(journal, {.batches_max = 2});
  committer.start();
  const OpenAtEnd end{journal};
  REQUIRE_OK(committer.submit(records(1), outcomes.done("first")));
  journal.await_append();
  REQUIRE_OK(committer.submit(records(1), outcomes.done("b")));
  REQUIRE_OK(committer.submit({}, outcomes.done("c")));
  const Status too_many = committer.submit({}, outcomes.done("never"));
  REQUIRE(!too_many);
  CHECK(too_many.error().code == Code::kTooMany);
  journal.open();
  CHECK(outcomes.await(3).size() == 3);
  REQUIRE_OK(committer.submit(records(1), outcomes.done("d")));
  CHECK(outcomes.await(4).back() == "d: 3");
}

TEST_CASE("the queue is bounded by bytes, but takes a lone batch of any size") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  Committer committer(journal, {.bytes_max = Bytes{100}});
  committer.start();
  const OpenAtEnd end{journal};
  REQUIRE_OK(committer.submit(records(1), outcomes.done("first")));
  journal.await_append();
  REQUIRE_OK(committer.submit(records(50), outcomes.done("250 bytes")));
  const Status too_many = committer.submit(records(1), outcomes.done("never"));
  REQUIRE(!too_many);
  CHECK(too_many.error().code == Code::kTooMany);
  CHECK(too_many.error().message.find("250B") != std::string::npos);
  journal.open();
  CHECK(outcomes.await(2).back() == "250 bytes: 51");
}

TEST_CASE("a record above the limit is refused before it is queued") {
  MemoryJournal journal;
  Outcomes outcomes;
  Committer committer(journal);
  committer.start();
  std::vector<JournalRecord> large(1);
  large[0].bytes.resize(static_cast<size_t>(kRecordBytesMax.count) + 1);
  const Status refused = committer.submit(std::move(large), outcomes.done("never"));
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kTooLarge);
  REQUIRE_OK(committer.submit(records(1), outcomes.done("next")));
  CHECK(outcomes.await(1) == Told{"next: 1"});
}

TEST_CASE("a failed append refuses everything queued, in order, until a probe succeeds") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  // The first append passes, the second and one probe fail.
  journal.inner.fail_writes({.after = 1, .times = 2});
  Committer committer(journal, {.group_records_max = 1});
  committer.start();
  REQUIRE_OK(committer.submit(records(1), outcomes.done("good")));
  journal.await_append();
  for (const char* name : {"a", "b", "c"}) REQUIRE_OK(committer.submit(records(1), outcomes.done(name)));
  journal.open();
  CHECK(outcomes.await(4) == Told{"good: 1", "a: unavailable", "b: unavailable", "c: unavailable"});
  CHECK(journal.last().value == 1);

  const Status refused = committer.submit(records(1), outcomes.done("never"));
  REQUIRE(!refused);
  CHECK(refused.error().code == Code::kUnavailable);
  CHECK(committer.stats().refusing.has_value());
  CHECK(committer.stats().refused == 3);

  committer.resume(outcomes.resumed());
  CHECK(outcomes.await(5).back() == "still broken");
  CHECK(!committer.submit(records(1), outcomes.done("never")));
  committer.resume(outcomes.resumed());
  CHECK(outcomes.await(6).back() == "resumed");
  CHECK(!committer.stats().refusing.has_value());
  REQUIRE_OK(committer.submit(records(2), outcomes.done("again")));
  CHECK(outcomes.await(7).back() == "again: 3");
}

TEST_CASE("a resume from before a failure does not lift it") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  journal.inner.fail_writes({.after = 0, .times = 1});
  Committer committer(journal);
  committer.start();
  const OpenAtEnd end{journal};
  REQUIRE_OK(committer.submit(records(1), outcomes.done("a")));
  journal.await_append();
  committer.resume(outcomes.resumed());
  journal.open();
  CHECK(outcomes.await(2) == Told{"a: unavailable", "resumed"});
  CHECK(!committer.submit(records(1), outcomes.done("never")));
  committer.resume(outcomes.resumed());
  CHECK(outcomes.await(3).back() == "resumed");
  REQUIRE_OK(committer.submit(records(1), outcomes.done("b")));
  CHECK(outcomes.await(4).back() == "b: 1");
}

TEST_CASE("ending commits what is queued") {
  GatedJournal journal;
  Outcomes outcomes;
  journal.close();
  auto committer = std::make_unique<Committer>(journal, CommitterOptions{.group_records_max = 1});
  committer->start();
  for (const char* name : {"a", "b", "c"}) REQUIRE_OK(committer->submit(records(1), outcomes.done(name)));
  journal.await_append();
  journal.open();
  committer.reset();
  CHECK(outcomes.await(3) == Told{"a: 1", "b: 2", "c: 3"});
  CHECK(journal.last().value == 3);
}

TEST_CASE("done may submit the next batch") {
  MemoryJournal journal;
  Outcomes outcomes;
  Committer committer(journal);
  committer.start();
  REQUIRE_OK(committer.submit(records(1), [&](const Result<Sequence>&) {
    const Status submitted = committer.submit(records(1), outcomes.done("second"));
    CHECK(submitted.has_value());
  }));
  CHECK(outcomes.await(1) == Told{"second: 2"});
}

}  // namespace moulin::testing
