// Limits and guarantees of the whole quota tree.
//
// No tree node may hold more than its limit, whatever the class. Production must also fit
// inside the guarantee of its project and of each ancestor, counting production only; the
// guarantee of the organisation is the capacity. Guarantees of cpu, of memory and of one
// GPU model bind production only where such a quota is declared.
#pragma once

#include "scheduler/applicant.h"
#include "scheduler/overlay.h"

namespace moulin {

inline constexpr int64_t kNoLimit = INT64_MAX;

// What may still be added in one pool on devices of one model, in the units of quota.
// Below 0 where a limit was lowered under what is held.
struct Headroom {
  int64_t gpu = kNoLimit;
  int64_t model = kNoLimit;
  int64_t cpu = kNoLimit;
  int64_t memory = kNoLimit;
  bool holds(Share share, const Resources& resources) const;
};

// `hold` is what is about to be added: kHeld must fit beside everything that still holds,
// kClaimed beside what remains when the leaving have left.
Headroom headroom(const Overlay& overlay, const Applicant& applicant, Hold hold, const PoolName& pool,
                  const ModelName& model);

// Whether placements that the overlay holds as kClaimed are inside every limit and
// guarantee that bears on them, with everything else that it holds.
bool keeps_limits(const Overlay& overlay, const Applicant& applicant, const std::vector<ReplicaPlacement>& places);

// The amount that is always available to the tree node path[level].
int64_t guaranteed(const State& state, const Index& index, const TreePath& path, size_t level, const QuotaKey& key);

// Whether production has to fit inside the guarantee of that key there.
bool guarantee_binds(const TreeNode& node, const QuotaKey& key);

}  // namespace moulin
