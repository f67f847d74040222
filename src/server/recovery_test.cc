#include "server/recovery.h"

#include <doctest/doctest.h>

#include "base/codec.h"
#include "server/testing.h"

namespace moulin::testing {
namespace {

// A journal in which something of everything happened.
void live(TestReactor& test) {
  WorkloadSpec failing = TestCluster::make_spec("failing");
  failing.retry = {.on_failed = true, .max = 2, .back_off = seconds(1)};
  test.submit(TestCluster::make_spec("plain"));
  test.submit(failing);
  std::vector<ReplicaLaunch> launches = test.engine.await_starts(2);
  for (const ReplicaLaunch& launch : launches) test.engine.report_started(launch);
  test.engine.report_exited(launches[0], 0);
  test.engine.report_exited(launches[1], 3);
  test.clock.advance(seconds(2));
  test.settle();
  test.must(command::CreateTreeNode{TreeName("team"), TreeKind::kProject, kRootTree, {}});
}

std::string recovered(const Journal& journal) {
  Result<Core> core = recover_core(journal);
  MOULIN_CHECK(core.has_value(), "the journal is sound");
  return encode(core->state());
}

}  // namespace

TEST_CASE("a snapshot and the records after it give the same bytes as all records alone") {
  TestReactor test;
  live(test);
  std::string all = recovered(test.journal);
  CHECK(all == encode(test.reactor->view()->state));

  REQUIRE(test.journal.save_snapshot(snapshot_of(test.reactor->view()->state)).has_value());
  CHECK(recovered(test.journal) == all);
  test.submit(TestCluster::make_spec("later"));
  CHECK(recovered(test.journal) == encode(test.reactor->view()->state));
}

TEST_CASE("a snapshot that is damaged, of a newer format, or of another state is done without") {
  TestReactor test;
  live(test);
  std::string all = recovered(test.journal);
  Snapshot snapshot = snapshot_of(test.reactor->view()->state);
  snapshot.format = kSnapshotFormat + 1;
  snapshot.bytes = "from the future";
  REQUIRE(test.journal.save_snapshot(snapshot).has_value());
  CHECK(recovered(test.journal) == all);
  snapshot.format = kSnapshotFormat;
  snapshot.bytes = "no state at all";
  REQUIRE(test.journal.save_snapshot(snapshot).has_value());
  CHECK(recovered(test.journal) == all);
  snapshot.bytes = encode(State{});  // says sequence 0, is stored at another
  REQUIRE(test.journal.save_snapshot(snapshot).has_value());
  CHECK(recovered(test.journal) == all);
}

TEST_CASE("a damaged record is named, and nothing is made up in its place") {
  TestReactor test;
  live(test);
  test.journal.inner.damage({5});
  Result<Core> core = recover_core(test.journal);
  REQUIRE_FALSE(core.has_value());
  CHECK(core.error().code == Code::kInternal);
  CHECK(core.error().message.find('5') != std::string::npos);
}

TEST_CASE("a record of a type that we do not know is refused with its number") {
  MemoryJournal journal;
  REQUIRE(journal.append({{.time = {1}, .type = 9999, .bytes = "x"}}).has_value());
  Result<Core> core = recover_core(journal);
  REQUIRE_FALSE(core.has_value());
  CHECK(core.error().message.ends_with("record 1"));
}

}  // namespace moulin::testing
