// Which limits and guarantees of one tree node are too small for a workload, each with its
// numbers: for refusing, explaining and mending. Placement itself asks limits.h.
#pragma once

#include <vector>

#include "scheduler/applicant.h"
#include "scheduler/scheduler.h"

namespace moulin {

enum class BoundKind {
  kLimit,
  kGuarantee,  // for production: see limits.h
};

struct Bound {
  QuotaKey key{};
  int64_t amount = 0;    // the limit or the guarantee
  int64_t held = 0;      // of it
  int64_t each = 0;      // what one replica takes, at least
  int64_t replicas = 0;  // that it leaves room for
};

// The bounds at path[level] that keep the minimum of replicas out of the pool that leaves
// most room for it, whatever hardware is free. Empty: this level does not block. Counts
// what `room` holds.
std::vector<Bound> blocking_bounds(const View& view, const Room& room, const Applicant& applicant, size_t level,
                                   BoundKind kind);

// All bounds at path[level] that bear on the workload, in every pool and model that it may
// use, whether they block or not.
std::vector<Bound> bounds_at(const View& view, const Room& room, const Applicant& applicant, size_t level,
                             BoundKind kind);

}  // namespace moulin
