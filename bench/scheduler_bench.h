// What the benchmarks of the scheduler share: a watch, figures, and big clusters.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <string>

#include "base/rng.h"
#include "scheduler/testing.h"

namespace moulin::bench {

// Time of this thread on a core: the scheduler is one thread and never waits, and other work
// on the machine does not count.
class Watch {
 public:
  double milliseconds() const { return now() - start_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  double start_ = now();
};

inline double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Figure {
  std::string name{};
  double value = 0;
  std::string unit{};
  std::string better = "lower";
  double goal = 0;
  double limit = 0;      // a bound measured in the same run
  std::string others{};  // members of an object
};

inline void print(const Figure& figure) {
  fmt::print(
      "{{\"name\": \"{}\", \"value\": {:.4f}, \"unit\": \"{}\", \"better\": \"{}\", \"goal\": {}, \"limit\": {:.4f}, "
      "\"others\": {{{}}}}}\n",
      figure.name, figure.value, figure.unit, figure.better, figure.goal, figure.limit, figure.others);
}

// Nodes of 8 GPUs with 96 cores and 1 TiB, in three models.
inline void add_nodes(testing::Cluster& cluster, int64_t count) {
  const char* models[] = {"A100", "H100", "L40"};
  for (int64_t i = 0; i < count; ++i) {
    cluster.node({.name = fmt::format("node-{:05}", i),
                  .gpus = 8,
                  .model = models[i % 3],
                  .cpu = {96'000},
                  .memory = gibibytes(1024)});
  }
}

}  // namespace moulin::bench
