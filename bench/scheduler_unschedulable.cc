// How quickly a gang that can not start is told so, with everything that `why` says.
//
// Work: a gang of 10 replicas on 1,000 nodes of 8 GPUs that are all taken, in three variants:
//   fragmented  each node has one GPU free, each replica wants two
//   protected   all victims are inside the guarantee of their project
//   quota       the project is at its limit, and GPUs are free
// For each: one pass that examines it, and one complete explanation with every change tried.
// The value is the slowest of all; the limit is the time to walk over all nodes once.
//
// measures: scheduler_unschedulable_ms
#include <algorithm>

#include "scheduler_bench.h"

namespace {

using namespace moulin;

constexpr int64_t kNodes = 1'000;

testing::Cluster filled(int64_t devices_of_each_node, Class priority_class) {
  testing::Cluster cluster;
  cluster.project("holder", {{testing::gpu_key(), {.guaranteed = kNodes * 8000}}});
  cluster.project("wanting", {{testing::gpu_key(), {.limit = 15'000}}});
  bench::add_nodes(cluster, kNodes);
  for (int64_t i = 0; i < kNodes; ++i)
    cluster.submit({.project = "holder", .priority_class = priority_class, .devices = devices_of_each_node});
  Plan plan = make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX});
  cluster.apply(plan);
  return cluster;
}

double slowest_answer(testing::Cluster cluster, const testing::JobOptions& gang, size_t reasons) {
  WorkloadId id = cluster.submit(gang);
  bench::Watch pass;
  Plan plan = make_plan(cluster.view(), {});
  double pass_ms = pass.milliseconds();
  MOULIN_CHECK(plan.starts.empty() && plan.evictions.empty(), "it can not start");
  bench::Watch why;
  Explanation explanation = explain(cluster.view(), id);
  double why_ms = why.milliseconds();
  MOULIN_CHECK(explanation.reasons.size() >= reasons, "it is told why");
  return std::max(pass_ms, why_ms);
}

double walk_ms(const testing::Cluster& cluster) {
  bench::Watch watch;
  int64_t free = 0;
  for (const auto& [name, node] : cluster.index().room().nodes()) {
    for (const DeviceRoom& device : node->devices) free += device.free.milli;
  }
  MOULIN_CHECK(free > 0, "some are free");
  return watch.milliseconds();
}

}  // namespace

int main() {
  testing::JobOptions gang{.project = "wanting", .devices = 2, .replicas = 10};
  testing::Cluster seven = filled(7, Class::kBatch);
  seven.quota("wanting", testing::gpu_key(), {});
  double fragmented =
      slowest_answer(filled(7, Class::kTraining), {.project = "default", .devices = 2, .replicas = 10}, 1);
  double protected_ms = slowest_answer(seven, gang, 2);
  double quota = slowest_answer(filled(4, Class::kTraining), gang, 1);
  bench::print({.name = "scheduler_unschedulable_ms",
                .value = std::max({fragmented, protected_ms, quota}),
                .unit = "ms",
                .goal = 10,
                .limit = walk_ms(seven),
                .others = fmt::format("\"fragmented_ms\": {:.3f}, \"protected_ms\": {:.3f}, \"quota_ms\": {:.3f}, "
                                      "\"peak_rss_mib\": {:.0f}",
                                      fragmented, protected_ms, quota, bench::peak_rss_mib())});
  return 0;
}
