// Measures what a process tree uses, and watches the limits that the kernel does not.
#pragma once

#include <optional>
#include <string>

#include "base/instant.h"
#include "shim/cgroup.h"
#include "shim/exchange.h"
#include "shim/limit_watch.h"
#include "shim/protocol.h"

namespace moulin {

// Not thread-safe. `exchange` and `cgroup` must outlive the meter.
class UsageMeter {
 public:
  struct Subject {
    int64_t root = 0;                // the guard: everything below it is measured
    const Cgroup* cgroup = nullptr;  // may be nullptr
    const Fd& exchange;              // folder with the activity file
  };
  UsageMeter(Subject subject, ShimLimits watched, Instant start);

  // A look at the tree, when one is due. The sentence when a limit was crossed.
  std::optional<std::string> look(Instant now);
  // The last look: the tree is gone and used this.
  void close(Instant now, Duration cpu, Bytes largest);

  Instant next_look() const { return next_; }
  const ShimUsage& usage() const { return usage_; }

  static constexpr Duration kInterval = seconds(1);  // LimitWatch::kInterval when it watches
  static constexpr int64_t kCostShareMax = 20;       // looking takes at most a 20th of the time

 private:
  void add_activity(Instant now);

  Subject subject_;
  LimitWatch watch_;
  Instant start_;
  Instant next_;
  Instant activity_at_;
  ActivityMeter activity_;
  ShimUsage usage_;
};

}  // namespace moulin
