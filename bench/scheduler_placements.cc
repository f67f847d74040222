// How many replicas one scheduler places in a second.
//
// Work: 10,000 nodes, filled with jobs of class batch that arrive 200 at a time until what has
// arrived is 100 % of the GPUs; each time one pass plans, and the plan is applied to state and
// index. What does not fit is dropped. The value counts placed replicas over the time of the
// passes, which includes finding out why the others do not fit; `slowest_band` is the slowest
// 5 % band of the load.
//
// With MOULIN_TRACES set: openb's nodes, tiled, and its default task list drawn at random
// (Alibaba's GPU-sharing trace of 2023, from hkust-adsl/kubernetes-scheduler-simulator,
// Apache-2.0), a tenth of them as gangs of 2 to 8, 3 % asking for more CPU than any node has.
// Else: 8 GPUs on each node in three models; parts of devices, one, two, four or eight of
// them, gangs, models that are asked for, in similar proportions.
//
// The limit is the same replicas placed into an overlay where they went: what keeping the
// free room costs by itself.
//
// measures: scheduler_placements_per_s
#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "scheduler/overlay.h"
#include "scheduler_bench.h"

namespace {

using namespace moulin;
using testing::JobOptions;
using testing::NodeOptions;

constexpr int64_t kNodes = 10'000;
constexpr int64_t kArrivals = 200;
constexpr int64_t kBands = 20;

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& path) {
  std::ifstream file(path);
  MOULIN_CHECK(file.good(), "the trace is there");
  Rows rows;
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string_view value : split(line, ',')) row.emplace_back(value);
  }
  return rows;
}

// Where nodes and jobs come from.
class Source {
 public:
  explicit Source(const std::string& traces) {
    if (traces.empty()) return;
    nodes_ = rows_of(traces + "/openb/openb_node_list_gpu_node.csv");
    tasks_ = rows_of(traces + "/openb/openb_pod_list_default.csv");
  }
  const char* name() const { return nodes_.empty() ? "synthetic" : "openb"; }

  void add_nodes(testing::Cluster& cluster) const {
    if (nodes_.empty()) return bench::add_nodes(cluster, kNodes);
    for (int64_t i = 0; i < kNodes; ++i) {
      const auto& row = nodes_[static_cast<size_t>(i) % nodes_.size()];
      cluster.node({.name = fmt::format("{}-{}", i / std::ssize(nodes_), row[0]),
                    .gpus = std::stoi(row[3]),
                    .model = row[4],
                    .cpu = {std::stoll(row[1])},
                    .memory = mebibytes(std::stoll(row[2]))});
    }
  }

  JobOptions job(Rng& rng) const {
    JobOptions job = tasks_.empty() ? synthetic(rng) : task(rng);
    job.priority_class = Class::kBatch;
    if (rng.chance(100)) job.replicas = rng.between(2, 8);
    if (rng.chance(30)) job.cpu = {1'000'000};
    return job;
  }

 private:
  static JobOptions synthetic(Rng& rng) {
    JobOptions job{.memory = gibibytes(8)};
    int64_t kind = rng.below(10);
    if (kind < 3) job.share = {rng.between(2, 18) * 50};
    if (kind >= 3 && kind < 6) job.devices = 1;
    if (kind >= 6) job.devices = int64_t{1} << rng.between(1, 3);
    job.cpu = {rng.between(1, 8) * 1000 * std::max<int64_t>(1, job.devices)};
    if (rng.chance(200)) job.models = {rng.chance(500) ? "A100" : "H100"};
    return job;
  }
  JobOptions task(Rng& rng) const {
    const auto& row = tasks_[static_cast<size_t>(rng.below(std::ssize(tasks_)))];
    JobOptions job{.cpu = {std::stoll(row[1])}, .memory = mebibytes(std::stoll(row[2]))};
    int64_t devices = std::stoll(row[3]);
    Share share{std::stoll(row[4])};
    if (devices == 1 && share < kWholeDevice)
      job.share = share;
    else
      job.devices = devices;
    if (row.size() > 5 && !row[5].empty()) {
      for (std::string_view model : split(row[5], '|')) job.models.emplace_back(model);
    }
    return job;
  }

  Rows nodes_;
  Rows tasks_;
};

struct Band {
  double milliseconds = 0;
  int64_t replicas = 0;
  double per_second() const { return static_cast<double>(replicas) * 1000 / milliseconds; }
};

struct Load {
  std::vector<Band> bands = std::vector<Band>(kBands);
  Band all{};
  double slowest_pass_ms = 0;
  int64_t held = 0;
};

int64_t milli_of(const JobOptions& job) {
  return (job.share.milli > 0 ? job.share.milli : job.devices * kWholeDevice.milli) * job.replicas;
}

void count(Load& load, const Plan& plan, double milliseconds, int64_t capacity) {
  int64_t replicas = 0;
  for (const StartItem& item : plan.starts) replicas += std::ssize(item.replicas);
  Band& band = load.bands[static_cast<size_t>(std::min(load.held * kBands / capacity, kBands - 1))];
  for (Band* counted : {&band, &load.all}) {
    counted->milliseconds += milliseconds;
    counted->replicas += replicas;
  }
  load.slowest_pass_ms = std::max(load.slowest_pass_ms, milliseconds);
}

Load fill(testing::Cluster& cluster, const Source& source) {
  Rng rng(42);
  Load load;
  int64_t capacity = cluster.index().capacity(testing::gpu_key());
  for (int64_t arrived = 0; arrived < capacity;) {
    for (int64_t i = 0; i < kArrivals; ++i) {
      JobOptions job = source.job(rng);
      arrived += milli_of(job);
      cluster.submit(job);
    }
    bench::Watch watch;
    Plan plan = make_plan(cluster.view(), {.candidates_max = INT64_MAX, .starts_max = INT64_MAX});
    count(load, plan, watch.milliseconds(), capacity);
    cluster.apply(plan);
    for (const WaitItem& item : plan.waits)
      cluster.change_workload(item.workload, [](Workload& workload) { workload.state = WorkloadState::kStopped; });
    load.held = cluster.index().room().amount(kRootTree, testing::gpu_key()).held;
  }
  return load;
}

double known_places_ms(const testing::Cluster& full, const Source& source) {
  testing::Cluster empty;
  source.add_nodes(empty);
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

std::string traces_folder(char** environment) {
  constexpr std::string_view kName = "MOULIN_TRACES=";
  for (; *environment != nullptr; ++environment) {
    std::string_view variable(*environment);
    if (variable.starts_with(kName)) return std::string(variable.substr(kName.size()));
  }
  return "";
}

}  // namespace

int main(int, char**, char** environment) {
  Source source(traces_folder(environment));
  testing::Cluster cluster;
  source.add_nodes(cluster);
  Load load = fill(cluster, source);
  double slowest_band = 1e18;
  for (const Band& band : load.bands) {
    if (band.replicas > 0) slowest_band = std::min(slowest_band, band.per_second());
  }
  auto percent =
      static_cast<double>(load.held) * 100 / static_cast<double>(cluster.index().capacity(testing::gpu_key()));
  bench::print({.name = "scheduler_placements_per_s",
                .value = load.all.per_second(),
                .unit = "replicas/s",
                .better = "higher",
                .goal = 20'000,
                .limit = static_cast<double>(load.all.replicas) * 1000 / known_places_ms(cluster, source),
                .others = fmt::format("\"cluster\": \"{}\", \"replicas\": {}, \"slowest_band\": {:.0f}, "
                                      "\"slowest_pass_ms\": {:.2f}, \"load_percent\": {:.2f}, \"shapes\": {}, "
                                      "\"peak_rss_mib\": {:.0f}",
                                      source.name(), load.all.replicas, slowest_band, load.slowest_pass_ms, percent,
                                      cluster.index().room().groups().size(), bench::peak_rss_mib())});
  return 0;
}
