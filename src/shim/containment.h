// What this host lets us use to hold process trees together, found by trying.
#pragma once

#include <string>
#include <vector>

#include "shim/cgroup.h"
#include "shim/launch.h"

namespace moulin {

struct ContainmentFinding {
  ContainmentKind kind = ContainmentKind::kSubreaper;
  bool works = false;
  std::string detail;  // a sentence for `moulin doctor`
};

struct Containment {
  ContainmentKind kind = ContainmentKind::kSubreaper;  // the strongest that works
  std::string cgroup_parent{};   // folder for the groups of replicas; only with kCgroup
  CgroupLimits controllers{};    // limits that the kernel enforces; the others are watched
  std::vector<ContainmentFinding> findings{};  // one for each kind, strongest first
};

// Really makes a group and a namespace, and really kills a process in each. Takes a few
// milliseconds and forks, so call it early, while the process is small; safe beside
// other threads. Leaves nothing behind but the empty cgroup "moulin".
Containment probe_containment();

}  // namespace moulin
