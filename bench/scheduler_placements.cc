// How many replicas one scheduler places in a second.
//
// Work: 10,000 nodes of 8 GPUs in three models, filled from empty to 95 % of the GPUs with
// jobs of which 30 % take part of a device, 30 % one, 30 % two to eight, 10 % are gangs of
// 2 to 16 replicas, 20 % name a model, 3 % can not fit where they ask to. Jobs arrive 500 at
// a time; each time one pass plans, and the plan is applied to state and index. The value
// counts placed replicas over the time of the passes alone; `slowest` is the slowest 5 %
// band of the load. The limit is the same replicas placed into an overlay at places that
// are known before: what keeping the free room costs by itself.
//
// measures: scheduler_placements_per_s
#include <algorithm>
#include <vector>

#include "bench/scheduler_bench.h"
#include "scheduler/overlay.h"

namespace {

using namespace moulin;

constexpr int64_t kNodes = 10'000;
constexpr int64_t kArrivals = 500;

testing::JobOptions random_job(Rng& rng) {
  testing::JobOptions job{.priority_class = Class::kBatch, .cpu = {1000}, .memory = gibibytes(8)};
  int64_t kind = rng.below(10);
  if (kind < 3) job.share = {rng.between(2, 18) * 50};
  if (kind >= 3 && kind < 6) job.devices = 1;
  if (kind >= 6) job.devices = int64_t{1} << rng.between(1, 3);
  if (kind == 9) job.replicas = rng.between(2, 16);
  job.cpu = {rng.between(1, 8) * 1000 * std::max<int64_t>(1, job.devices)};
  if (rng.chance(200)) job.models = {rng.chance(500) ? "A100" : "H100"};
  if (rng.chance(30)) job.cpu = {97'000};
  return job;
}

struct Band {
  double milliseconds = 0;
  int64_t replicas = 0;
};

// The same placements again, without looking for them.
double known_places_ms(const testing::Cluster& full) {
  testing::Cluster empty;
  bench::add_nodes(empty, kNodes);
  Overlay overlay(empty.view());
  const TreePath& path = overlay.path(kDefaultProject);
  bench::Watch watch;
  for (const auto& [id, workload] : full.state().workloads) {
    if (workload->live() == nullptr) continue;
    for (const Replica& replica : workload->live()->replicas)
      overlay.place({path, workload->spec.priority_class, Hold::kHeld}, replica.placement);
  }
  return watch.milliseconds();
}

}  // namespace

int main() {
  Rng rng(1);
  testing::Cluster cluster;
  bench::add_nodes(cluster, kNodes);
  std::vector<Band> bands(20);
  Band all;
  double slowest_pass = 0;
  int64_t held = 0;
  constexpr int64_t kCapacity = kNodes * 8 * 1000;
  while (held < kCapacity * 95 / 100) {
    for (int64_t i = 0; i < kArrivals; ++i) cluster.submit(random_job(rng));
    bench::Watch watch;
    Plan plan = make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX});
    double milliseconds = watch.milliseconds();
    slowest_pass = std::max(slowest_pass, milliseconds);
    int64_t replicas = 0;
    for (const StartItem& item : plan.starts) replicas += std::ssize(item.replicas);
    if (replicas == 0) break;
    cluster.apply(plan);
    Band& band = bands[static_cast<size_t>(std::min<int64_t>(held * 20 / kCapacity, 19))];
    for (Band* counted : {&band, &all}) {
      counted->milliseconds += milliseconds;
      counted->replicas += replicas;
    }
    held = cluster.index().room().amount(kRootTree, testing::gpu_key()).held;
    std::vector<WorkloadId> left;
    for (const WaitItem& item : plan.waits) left.push_back(item.workload);
    for (WorkloadId id : left)  // dropped, as in the packing studies
      cluster.change_workload(id, [](Workload& workload) { workload.state = WorkloadState::kStopped; });
  }
  double slowest_band = 1e18;
  for (const Band& band : bands) {
    if (band.replicas > 0)
      slowest_band = std::min(slowest_band, static_cast<double>(band.replicas) * 1000 / band.milliseconds);
  }
  auto placed = static_cast<double>(all.replicas);
  bench::print({.name = "scheduler_placements_per_s",
                .value = placed * 1000 / all.milliseconds,
                .unit = "replicas/s",
                .better = "higher",
                .goal = 20'000,
                .limit = placed * 1000 / known_places_ms(cluster),
                .others = fmt::format("\"replicas\": {}, \"slowest_band\": {:.0f}, \"slowest_pass_ms\": {:.2f}, "
                                      "\"load_percent\": {}, \"shapes\": {}, \"peak_rss_mib\": {:.0f}",
                                      all.replicas, slowest_band, slowest_pass, held * 100 / kCapacity,
                                      cluster.index().room().groups().size(), bench::peak_rss_mib())});
  return 0;
}
