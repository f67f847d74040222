#include "engine/gpu/health.h"

#include <doctest/doctest.h>

#include "engine/gpu/health_board.h"

using namespace moulin;

namespace {
bool mentions(const GpuVerdict& verdict, std::string_view part) {
  return verdict.reason.find(part) != std::string::npos;
}

GpuReading reading(std::string_view uuid) {
  return {.sample = {.uuid = GpuUuid(uuid), .verdict = {}}, .signs = {.xids = {}}};
}
const GpuUuid kOne{"GPU-1"}, kTwo{"GPU-2"};
}  // namespace

TEST_CASE("a device without signs is healthy and says nothing") { CHECK(judge({.xids = {}}) == GpuVerdict{}); }

TEST_CASE("application faults leave a device healthy") { CHECK(judge({.xids = {13, 31, 43, 45}}) == GpuVerdict{}); }

TEST_CASE("each sign gives its verdict and a sentence") {
  CHECK(judge({.reach = Reach::kLost, .xids = {}}).health == Health::kUnhealthy);
  CHECK(judge({.reach = Reach::kNeedsReset, .xids = {}}).health == Health::kUnhealthy);
  CHECK(judge({.reach = Reach::kBlocked, .xids = {}}).health == Health::kUnknown);
  CHECK(judge({.reach = Reach::kFails, .xids = {}}).health == Health::kUnknown);
  CHECK(mentions(judge({.ecc_uncorrected = 2, .xids = {}}), "2 uncorrectable memory errors"));
  CHECK(judge({.row_remap_failed = true, .xids = {}}).health == Health::kUnhealthy);
  CHECK(judge({.mig_enabled = true, .xids = {}}).health == Health::kUnknown);
  for (int32_t action : {1, 2, 3, 4, 99}) {
    GpuVerdict verdict = judge({.recovery_action = action, .xids = {}});
    CHECK(verdict.health == Health::kUnhealthy);
    CHECK_FALSE(verdict.reason.empty());
  }
  GpuVerdict pending = judge({.row_remap_pending = true, .xids = {}});
  CHECK(pending.health == Health::kHealthy);
  CHECK(mentions(pending, "waits to be replaced"));
}

TEST_CASE("the gravest XID decides, and an unknown one wants attention") {
  CHECK(mentions(judge({.xids = {13, 79, 63, 13}}), "XID 79, the device has fallen off the bus: restart the machine"));
  CHECK(judge({.xids = {63}}).health == Health::kHealthy);
  CHECK(mentions(judge({.xids = {63}}), "XID 63"));
  CHECK(judge({.xids = {4242}}).health == Health::kHealthy);
  CHECK(mentions(judge({.xids = {4242}}), "XID 4242, which Moulin does not know"));
}

TEST_CASE("the board reports a change once") {
  HealthBoard board;
  board.expect({reading("GPU-1"), reading("GPU-2")});
  CHECK(board.publish().changes.empty());
  CHECK(board.publish().samples->pass == 0);
  board.add_xid(kTwo, 79);
  HealthBoard::Publication publication = board.publish();
  REQUIRE(publication.changes.size() == 1);
  CHECK(publication.changes[0].uuid == kTwo);
  CHECK(publication.samples->find(kTwo)->xids == std::vector<int32_t>{79});
  CHECK(publication.samples->find(kOne)->verdict == GpuVerdict{});
  CHECK(board.publish().changes.empty());
  board.forget_xids(kTwo);
  REQUIRE(board.publish().changes.size() == 1);
}

TEST_CASE("foreign processes are a change when they come and go, not when they grow") {
  HealthBoard board;
  auto with_foreign = [](int64_t gib) {
    GpuReading one = reading("GPU-1");
    one.sample.processes = {{.pid = 7, .memory = gibibytes(1), .ours = true}, {.pid = 9, .memory = gibibytes(gib)}};
    return std::vector<GpuReading>{one};
  };
  board.set_readings(with_foreign(2));
  HealthBoard::Publication publication = board.publish();
  REQUIRE(publication.changes.size() == 1);
  REQUIRE(publication.changes[0].foreign.size() == 1);
  CHECK(publication.changes[0].foreign[0].pid == 9);
  CHECK(publication.samples->devices[0].foreign_memory() == gibibytes(2));
  board.set_readings(with_foreign(3));
  CHECK(board.publish().changes.empty());
  board.set_readings({reading("GPU-1")});
  CHECK(board.publish().changes.size() == 1);
  board.set_readings({});
  CHECK(board.publish().changes.empty());
}

TEST_CASE("a device that is looked at no more is well again") {
  HealthBoard board;
  GpuReading ill = reading("GPU-1");
  ill.signs.ecc_uncorrected = 1;
  board.set_readings({ill});
  CHECK(board.publish().changes.size() == 1);
  board.set_readings({});
  std::vector<GpuChange> changes = board.publish().changes;
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].verdict == GpuVerdict{});
}

TEST_CASE("a hang makes all devices unknown but those that were found ill") {
  HealthBoard board;
  GpuReading ill = reading("GPU-2");
  ill.signs.ecc_uncorrected = 1;
  board.set_readings({reading("GPU-1"), ill});
  board.publish();
  board.set_hang("the driver hangs");
  HealthBoard::Publication publication = board.publish();
  REQUIRE(publication.changes.size() == 1);
  CHECK(publication.changes[0].verdict == GpuVerdict{.health = Health::kUnknown, .reason = "the driver hangs"});
  CHECK(publication.samples->find(kTwo)->verdict.health == Health::kUnhealthy);
  board.set_hang(std::nullopt);
  CHECK(board.publish().changes[0].verdict == GpuVerdict{});
}

TEST_CASE("old XIDs are dropped, the newest are kept") {
  HealthBoard board;
  for (int32_t i = 0; i < 100; ++i) board.add_xid(kOne, i);
  CHECK(board.xids().at(kOne).size() == kXidsKeptMax);
  CHECK(board.xids().at(kOne).back() == 99);
}
