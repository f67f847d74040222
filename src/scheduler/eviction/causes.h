// Which workloads an applicant may evict, for which cause, and what protects the others.
#pragma once

#include <functional>

#include "scheduler/applicant.h"
#include "scheduler/eviction/guarantee_lines.h"

namespace moulin {

// What stands between an applicant and a workload that it would like to evict.
enum class Protection {
  kNone,        // nothing: it may be evicted
  kProduction,  // production is never preempted
  kRank,        // no cause at all: neither a lower class or priority, nor anything to take back
  kGuarantee,   // inside the guarantee of its project, or of a department
  kMinRuntime,  // has not run long enough for an eviction by priority, or to be taken back
};

struct Judgement {
  Cause cause = Cause::kNone;  // not kNone when the protection is kNone
  Protection protection = Protection::kRank;
  TreeName guarded_by{};  // whose guarantee, when that protects it
};

// Whether some of a workload is above the guarantee line of its project or of a department.
// Asked only where the answer matters, because it may take a while.
using IsAbove = std::function<bool(const Workload&, const TreeName& at)>;

// A live workload that stays, and what is asked about it.
struct Candidate {
  const Workload& workload;
  GuaranteeLines& lines;
  const IsAbove& is_above;
};

class ReclaimRights;
Judgement judge_eviction(const Applicant& applicant, const ReclaimRights& rights, const Candidate& victim, Instant now);

// False: nobody who lives has a lower class, or, in the same project and class, a lower
// priority. A quick answer from the index.
bool may_outrank_anybody(const Index& index, const WorkloadSpec& spec);

// False: the applicant has no cause to evict anybody. Quick, and never a false "no".
bool may_evict_anybody(const Index& index, const Applicant& applicant, const ReclaimRights& rights,
                       GuaranteeLines& lines);

}  // namespace moulin
