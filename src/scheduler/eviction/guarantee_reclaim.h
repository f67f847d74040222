// Who stays inside the guarantee of its own side takes back what another side holds above
// its guarantee, whatever the class; production is never taken, and the victim's min_runtime
// delays it. The bound of disruption does not count what is taken back.
#pragma once

#include <set>
#include <utility>

#include "scheduler/eviction/causes.h"

namespace moulin {

// Where in the tree an applicant would stay inside a guarantee, as the overlay is when this
// is made: without its own claim, and as if what leaves had left.
class ReclaimRights {
 public:
  ReclaimRights(const Overlay& overlay, const Applicant& applicant);

  // What holds the other sides, and the key: of which something may be taken back.
  const std::set<std::pair<TreeName, QuotaKey>>& rivals() const { return rivals_; }
  // As part of that project or department.
  bool holds(const TreeName& side, const QuotaKey& key) const { return inside_.contains({side, key}); }
  // The key in which what runs there is measured.
  QuotaKey key_of(const Workload& victim) const { return measured_in(overlay_, victim); }

 private:
  const Overlay& overlay_;
  std::set<std::pair<TreeName, QuotaKey>> inside_;
  std::set<std::pair<TreeName, QuotaKey>> rivals_;
};

Judgement judge_guarantee_reclaim(const Applicant& applicant, const ReclaimRights& rights, const Candidate& victim,
                                  Instant now);

}  // namespace moulin
