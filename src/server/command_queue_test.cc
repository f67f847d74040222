#include "server/command_queue.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

command::TakeReport of(EngineReport report) { return {.report = std::move(report)}; }
ReplicaKey key(uint64_t workload) { return {.workload = {workload}, .attempt = {1}, .replica = {0}}; }
UsageMeasured usage(uint64_t workload, int64_t cpu_seconds) {
  return {.key = key(workload), .token = "t", .usage = {.cpu = seconds(cpu_seconds)}};
}
ReplicaExited exited(uint64_t workload, int32_t code) {
  return {.key = key(workload), .token = "t", .exit = {.code = code}, .usage = {}};
}
template <class Report>
const Report& report_in(const QueuedCommand& item) {
  return std::get<Report>(std::get<command::TakeReport>(item.body).report);
}

}  // namespace

TEST_CASE("a flood of reports about one replica takes one place, and the newest measurement counts") {
  CommandQueue queue;
  for (int64_t i = 1; i <= 10'000; ++i) queue.add_report(of(usage(1, i)));
  queue.add_report(of(usage(2, 5)));
  CHECK(queue.size() == 2);
  std::deque<QueuedCommand> taken = queue.take(10);
  CHECK(report_in<UsageMeasured>(taken[0]).usage.cpu == seconds(10'000));
  CHECK(report_in<UsageMeasured>(taken[1]).usage.cpu == seconds(5));
}

TEST_CASE("of two ends of one replica the first counts; of another attempt both do") {
  CommandQueue queue;
  queue.add_report(of(exited(1, 0)));
  queue.add_report(of(exited(1, 1)));
  ReplicaExited other = exited(1, 7);
  other.token = "another";
  queue.add_report(of(other));
  std::deque<QueuedCommand> taken = queue.take(10);
  REQUIRE(taken.size() == 2);
  CHECK(report_in<ReplicaExited>(taken[0]).exit.code == 0);
  CHECK(report_in<ReplicaExited>(taken[1]).exit.code == 7);
}

TEST_CASE("what was taken does not stand for what comes later") {
  CommandQueue queue;
  queue.add_report(of(usage(1, 1)));
  CHECK(queue.take(1).size() == 1);
  queue.add_report(of(usage(1, 2)));
  CHECK(queue.take(10).size() == 1);
  CHECK(queue.empty());
}

TEST_CASE("health of a device and presence of a node are what was told last") {
  CommandQueue queue;
  for (Health health : {Health::kUnhealthy, Health::kUnknown, Health::kHealthy}) {
    Gpu gpu{.uuid = GpuUuid("g1")};
    gpu.health = health;
    queue.add_report(command::ReportGpu{NodeName("n1"), gpu});
    queue.add_report(command::ReportPresence{NodeName("n1"), Presence::kDown});
  }
  std::deque<QueuedCommand> taken = queue.take(10);
  REQUIRE(taken.size() == 2);
  CHECK(std::get<command::ReportGpu>(taken[0].body).gpu.health == Health::kHealthy);
}

TEST_CASE("commands leave and reports stay when nothing can be written, the lost ones first") {
  CommandQueue queue;
  queue.add_report(of(exited(2, 0)));
  queue.add({Actor{}, command::Stop{WorkloadId{1}}, [](const Result<Events>&) {}});
  queue.add_report(of(exited(3, 0)));
  std::vector<CommandBody> lost;
  lost.push_back(of(exited(1, 0)));
  lost.push_back(of(exited(3, 1)));
  CHECK(queue.take_commands(std::move(lost)).size() == 1);
  std::deque<QueuedCommand> taken = queue.take(10);
  REQUIRE(taken.size() == 3);
  CHECK(report_in<ReplicaExited>(taken[0]).key == key(1));
  CHECK(report_in<ReplicaExited>(taken[1]).exit.code == 1);
  CHECK(report_in<ReplicaExited>(taken[2]).key == key(2));
}

}  // namespace moulin
