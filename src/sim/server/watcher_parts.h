// What the watcher is made of.
#pragma once

#include <string_view>

#include "server/published.h"
#include "sim/invariants.h"

namespace moulin::sim {

// Workloads whose name begins so come from a request with a key: there may be one of each.
inline constexpr std::string_view kOncePrefix = "once-";

// Capacity = held + claimed + free + unavailable + foreign, device by device and node by
// node, counted from replicas and claims and compared with what the index says is free.
Violation check_capacity(const Published& view);

}  // namespace moulin::sim
