// One pass over a busy cluster: 4,000 running and 4,000 waiting on 500 nodes of 8 GPUs.
//
// Work: 40 projects in 5 departments, each with a guarantee; every GPU is taken by a job of
// one GPU; the 4,000 that wait ask for 0.5 to 8 GPUs in two classes. The pass looks at all of
// them and says why each waits. Variants: nobody may be evicted (all run in training and
// wait in training or below), and 5 % of those that wait are training over batch. The value
// is the slower pass; the limit is the time to read the spec of each of the 8,000 once.
//
// measures: scheduler_pass_ms
#include <algorithm>

#include "scheduler_bench.h"

namespace {

using namespace moulin;

constexpr int64_t kNodes = 500;
constexpr int64_t kWorkloads = 4'000;
constexpr int64_t kProjects = 40;

std::string project(int64_t i) { return fmt::format("project-{:02}", i % kProjects); }

testing::Cluster busy(Class running) {
  testing::Cluster cluster;
  for (int64_t i = 0; i < 5; ++i) cluster.department(fmt::format("department-{}", i));
  for (int64_t i = 0; i < kProjects; ++i)
    cluster.project(project(i), {{testing::gpu_key(), {.guaranteed = 50'000}}}, fmt::format("department-{}", i % 5));
  bench::add_nodes(cluster, kNodes);
  for (int64_t i = 0; i < kWorkloads; ++i)
    cluster.submit({.project = project(i), .priority_class = running, .devices = 1, .cpu = {4000}});
  Plan plan = make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX});
  MOULIN_CHECK(std::ssize(plan.starts) == kWorkloads, "all fit");
  cluster.apply(plan);
  for (const StartItem& item : plan.starts) cluster.run(item.workload);
  return cluster;
}

void add_waiting(testing::Cluster& cluster, int64_t training_per_thousand) {
  Rng rng(3);
  for (int64_t i = 0; i < kWorkloads; ++i) {
    bool training = rng.chance(training_per_thousand);
    testing::JobOptions job{.project = project(rng.below(kProjects)),
                            .priority_class = training ? Class::kTraining : Class::kBatch,
                            .cpu = {rng.between(1, 4) * 2000}};
    if (rng.chance(300))
      job.share = {500};
    else
      job.devices = int64_t{1} << rng.below(4);
    cluster.submit(job);
  }
}

double pass_ms(const testing::Cluster& cluster, Plan& plan) {
  bench::Watch watch;
  plan = make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX, .evictions_max = INT64_MAX});
  return watch.milliseconds();
}

double read_ms(const testing::Cluster& cluster) {
  bench::Watch watch;
  int64_t total = 0;
  for (const auto& [id, workload] : cluster.state().workloads) total += workload->spec.resources.gpu.share.milli;
  MOULIN_CHECK(total > 0, "they ask for something");
  return watch.milliseconds();
}

}  // namespace

int main() {
  testing::Cluster quiet = busy(Class::kTraining);
  add_waiting(quiet, 500);
  testing::Cluster contested = busy(Class::kBatch);
  add_waiting(contested, 50);
  Plan no_evictions;
  Plan evictions;
  double quiet_ms = pass_ms(quiet, no_evictions);
  double contested_ms = pass_ms(contested, evictions);
  bench::print({.name = "scheduler_pass_ms",
                .value = std::max(quiet_ms, contested_ms),
                .unit = "ms",
                .goal = 100,
                .limit = read_ms(quiet),
                .others = fmt::format("\"quiet_ms\": {:.2f}, \"quiet_waits\": {}, \"contested_ms\": {:.2f}, "
                                      "\"evictions\": {}, \"contested_waits\": {}, \"peak_rss_mib\": {:.0f}",
                                      quiet_ms, no_evictions.waits.size(), contested_ms, evictions.evictions.size(),
                                      evictions.waits.size(), bench::peak_rss_mib())});
  return 0;
}
