#include "scheduler/explain/inquiry.h"

#include "scheduler/placement/count.h"
#include "scheduler/placement/place.h"

namespace moulin {

bool can_start(const Inquiry& inquiry) {
  // Counting is much quicker than placing, and most answers are no.
  if (replicas_with(inquiry, inquiry.spec().resources) < inquiry.replicas()) return false;
  Overlay::Mark mark = inquiry.overlay.checkpoint();
  bool placed = place_gang(inquiry.overlay, inquiry.applicant, Hold::kHeld, {.first = 0, .count = inquiry.replicas()})
                    .has_value();
  inquiry.overlay.rollback(mark);
  return placed;
}

int64_t replicas_with(const Inquiry& inquiry, const Resources& changed) {
  WorkloadSpec spec;
  spec.resources = changed;
  spec.pools = inquiry.spec().pools;
  return replicas_that_fit(inquiry.overlay.room(), spec, inquiry.replicas());
}

}  // namespace moulin
