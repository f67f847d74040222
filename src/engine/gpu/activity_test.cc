#include <doctest/doctest.h>

#include "engine/gpu/activity_totals.h"
#include "engine/gpu/measured_activity.h"

using namespace moulin;

namespace {

const GpuUuid kGpu{"GPU-1"};

std::vector<GpuReading> one_device(std::vector<GpuProcess> processes, std::optional<int32_t> device_milli = {}) {
  return {{.sample = {.uuid = kGpu,
                      .verdict = {},
                      .active_milli = device_milli,
                      .processes_known = true,
                      .processes = std::move(processes)},
           .signs = {.xids = {}}}};
}

Duration total_of(const std::vector<GpuReading>& readings, size_t position) {
  return readings[0].sample.processes[position].active.value();
}

// What a replica with these grants used, as Gpus shows `readings`.
struct Replica {
  std::vector<Grant> grants{{.gpu = kGpu, .share = Share{250}}};
  std::vector<int64_t> pids{100};
  ReplicaKey key{};
  std::shared_ptr<GpuSamples> shown = std::make_shared<GpuSamples>();
  MeasuredActivity source{[this] { return shown; }};

  Duration use(Duration wall, std::vector<GpuReading> readings) {
    shown->devices.clear();
    for (GpuReading& reading : readings) shown->devices.push_back(std::move(reading.sample));
    return source.active({.key = key, .grants = grants, .pids = pids, .wall = wall});
  }
};

GpuProcess worked(int64_t pid, Duration active) { return {.pid = pid, .active = active, .ours = true}; }

}  // namespace

TEST_CASE("activity adds up over looks, by process") {
  ActivityTotals totals;
  std::vector<GpuReading> look = one_device({{.pid = 1, .active_milli = 500}, {.pid = 2, .active_milli = 0}});
  totals.add(look, Instant{0});
  CHECK(total_of(look, 0) == Duration{});
  totals.add(look, Instant{0} + seconds(2));
  CHECK(total_of(look, 0) == seconds(1));
  CHECK(total_of(look, 1) == Duration{});
  totals.add(look, Instant{0} + seconds(4));
  CHECK(total_of(look, 0) == seconds(2));
}

TEST_CASE("a process that went away begins anew, and a long gap counts a minute") {
  ActivityTotals totals;
  std::vector<GpuReading> look = one_device({{.pid = 1, .active_milli = 1000}});
  totals.add(look, Instant{0});
  totals.add(look, Instant{0} + hours(1));
  CHECK(total_of(look, 0) == minutes(1));
  std::vector<GpuReading> nobody = one_device({});
  totals.add(nobody, Instant{0} + hours(1));
  totals.add(look, Instant{0} + hours(1) + seconds(1));
  CHECK(total_of(look, 0) == seconds(1));
}

TEST_CASE("where only the device's activity is known, its processes get equal parts") {
  ActivityTotals totals;
  std::vector<GpuReading> look = one_device({{.pid = 1}, {.pid = 2}}, 800);
  totals.add(look, Instant{0});
  totals.add(look, Instant{0} + seconds(1));
  CHECK(total_of(look, 0) == milliseconds(400));
  std::vector<GpuReading> unknown = one_device({{.pid = 1}});
  totals.add(unknown, Instant{0} + seconds(2));
  CHECK_FALSE(unknown[0].sample.processes[0].active.has_value());
}

TEST_CASE("a replica used what its processes worked, at most its share") {
  Replica replica;
  CHECK(replica.use(seconds(60), one_device({worked(100, seconds(10)), worked(999, seconds(50))})) == seconds(10));
  CHECK(replica.use(seconds(60), one_device({worked(100, seconds(15))})) == seconds(5));
  CHECK(replica.use(seconds(60), one_device({worked(100, seconds(75))})) == seconds(15));
  CHECK(replica.use(seconds(60), one_device({worked(999, seconds(90))})) == Duration{});
}

TEST_CASE("a pid that is used again begins anew") {
  Replica replica;
  replica.use(seconds(60), one_device({worked(100, seconds(10))}));
  CHECK(replica.use(seconds(60), one_device({worked(100, seconds(3))})) == seconds(3));
}

TEST_CASE("what cannot be measured counts as used") {
  Replica replica;
  CHECK(replica.use(seconds(60), {}) == seconds(15));
  std::vector<GpuReading> hidden = one_device({});
  hidden[0].sample.processes_known = false;
  CHECK(replica.use(seconds(60), hidden) == seconds(15));
  CHECK(replica.use(seconds(60), one_device({{.pid = 100}})) == seconds(15));
}

TEST_CASE("the end of a replica counts at the rate before") {
  Replica replica;
  replica.use(seconds(60), one_device({worked(100, seconds(6))}));
  replica.pids.clear();
  CHECK(replica.use(seconds(10), {}) == seconds(1));
  replica.source.forget(replica.key);
  CHECK(replica.use(seconds(10), {}) == Duration{});
}

TEST_CASE("two devices add up") {
  Replica replica;
  replica.grants = {{.gpu = kGpu, .share = kWholeDevice}, {.gpu = GpuUuid("GPU-2"), .share = kWholeDevice}};
  std::vector<GpuReading> both = one_device({worked(100, seconds(10))});
  both.push_back(both[0]);
  both[1].sample.uuid = GpuUuid("GPU-2");
  CHECK(replica.use(seconds(60), both) == seconds(20));
}
