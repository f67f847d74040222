// Ends what a killed shim left behind.
#pragma once

#include "base/instant.h"
#include "shim/protocol.h"

namespace moulin {

// With a cgroup or a PID namespace this is exact: the kernel ends all members. With a
// subreaper only, the guard ends the tree; if it was killed together with the shim, we
// search for the mark in environments until two scans in a row find nothing, which a
// program that clears its environment escapes.
class Leftovers {
 public:
  Leftovers(ShimIdentity identity, Instant now) : identity_(std::move(identity)), since_(now) {}

  // Kills what is found. True when nothing is left; else call again after kInterval.
  bool end(Instant now);

  static constexpr Duration kInterval = milliseconds(20);
  static constexpr Duration kGuardPatience = seconds(5);  // then the guard is killed too

 private:
  bool end_cgroup() const;
  bool end_marked();

  ShimIdentity identity_;
  Instant since_;
  int empty_scans_ = 0;
};

}  // namespace moulin
