// How long the scheduler keeps a command waiting when very many workloads wait.
//
// Work: 50,000 workloads of four kinds wait in 1,000 projects of 20 departments on 500 full
// nodes. One round with the default budget looks at all of them, slice by slice; before each
// slice a workload is submitted, as requests would. The value is the longest slice, the first
// included, which puts the projects in order; `round_ms` is all of them. `joined_ms` is the round
// after one more joined and nothing else happened. The limit is the time to find each of the
// waiting workloads in the state once.
//
// measures: scheduler_slice_ms
#include <algorithm>

#include "scheduler/round.h"
#include "scheduler_bench.h"

namespace {

using namespace moulin;

constexpr int64_t kNodes = 500;
constexpr int64_t kProjects = 1'000;
constexpr int64_t kDepartments = 20;
constexpr int64_t kWaiting = 50'000;

std::string project(int64_t i) { return fmt::format("project-{:03}", i % kProjects); }

testing::JobOptions job(int64_t i) {
  testing::JobOptions job{.project = project(i), .priority_class = Class::kBatch, .cpu = {4000}};
  if (i % 4 == 0)
    job.share = {500};
  else
    job.devices = int64_t{1} << (i % 4);
  return job;
}

testing::Cluster crowded() {
  testing::Cluster cluster;
  for (int64_t i = 0; i < kDepartments; ++i) cluster.department(fmt::format("department-{}", i));
  for (int64_t i = 0; i < kProjects; ++i) {
    cluster.project(project(i), {{testing::gpu_key(), {.guaranteed = 8'000}}},
                    fmt::format("department-{}", i % kDepartments));
  }
  bench::add_nodes(cluster, kNodes);
  for (int64_t i = 0; i < kNodes; ++i) cluster.submit({.project = project(i), .devices = 8, .cpu = {4000}});
  cluster.apply(make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX}));
  for (int64_t i = 0; i < kWaiting; ++i) cluster.submit(job(i));
  return cluster;
}

double find_ms(const testing::Cluster& cluster) {
  bench::Watch watch;
  int64_t found = 0;
  for (const auto& [name, queue] : cluster.index().waiting()) {
    for (const auto& [key, member] : *queue) found += cluster.state().workload(key.id)->spec.replicas.min;
  }
  MOULIN_CHECK(found >= kWaiting, "they wait");
  return watch.milliseconds();
}

void join(testing::Cluster& cluster, Round& round, const testing::JobOptions& job) {
  WorkloadId id = cluster.submit(job);
  round.follow(cluster.state(),
               {.at = cluster.state().now, .actor = {}, .body = event::WorkloadSubmitted{.workload = id}});
}

// A round that looks at those alone that joined since the last.
double joined_ms(testing::Cluster& cluster, Round& round) {
  while (!round.slice(cluster.view(), {}).complete) continue;
  join(cluster, round, job(1));
  bench::Watch watch;
  Plan plan = round.slice(cluster.view(), {});
  MOULIN_CHECK(plan.complete && plan.counts.workloads_examined == 1, "one joined");
  return watch.milliseconds();
}

}  // namespace

int main() {
  testing::Cluster cluster = crowded();
  Round round;
  double longest = 0;
  double first = 0;
  double all = 0;
  int64_t slices = 0;
  int64_t touched = 0;
  int64_t examined = 0;
  while (examined < kWaiting) {
    MOULIN_CHECK(++slices < 10'000, "a round ends");
    join(cluster, round, job(slices));
    bench::Watch watch;
    Plan plan = round.slice(cluster.view(), {});
    double took = watch.milliseconds();
    if (slices == 1) first = took;
    longest = std::max(longest, took);
    all += took;
    touched += plan.counts.candidates_touched;
    examined += plan.counts.workloads_examined;
  }
  bench::print(
      {.name = "scheduler_slice_ms",
       .value = longest,
       .unit = "ms",
       .goal = 2,
       .limit = find_ms(cluster),
       .others = fmt::format("\"first_ms\": {:.3f}, \"joined_ms\": {:.3f}, \"slices\": {}, \"round_ms\": {:.2f}, "
                             "\"touched_per_workload\": {:.1f}, \"peak_rss_mib\": {:.0f}",
                             first, joined_ms(cluster, round), slices, all,
                             static_cast<double>(touched) / static_cast<double>(examined), bench::peak_rss_mib())});
  return 0;
}
