// What several answers need of all workloads together. Each is made in one walk over them
// and kept for as long as the state stays the same.
#pragma once

#include <array>
#include <map>
#include <utility>

#include "model/reason.h"
#include "model/workload.h"
#include "server/per_view.h"

namespace moulin {

// How many of each word.
template <class Enum>
class Counts {
 public:
  int64_t& operator[](Enum word) { return counts_.at(static_cast<size_t>(word)); }
  int64_t at(Enum word) const { return counts_.at(static_cast<size_t>(word)); }

 private:
  std::array<int64_t, kWords<Enum>.size()> counts_{};
};

struct WorkloadCounts {
  Counts<WorkloadState> states;
  Counts<ReasonCode> reasons;  // of those that wait, by the first
  int64_t not_looked_at = 0;   // that wait, and no pass has seen them
};
WorkloadCounts count_workloads(const Published& view);

// What waits below each node of the tree, by quota key.
using WaitingAmounts = std::map<std::pair<TreeName, QuotaKey>, int64_t>;
WaitingAmounts waiting_below(const Published& view);

struct Digests {
  PerView<WorkloadCounts> counts;
  PerView<WaitingAmounts> waiting;
};

}  // namespace moulin
