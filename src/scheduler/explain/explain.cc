#include "scheduler/scheduler.h"

namespace moulin {

Explanation explain(const View&, WorkloadId) { return {}; }
Explanation explain_new(const View&, const WorkloadSpec&, const UserName&) { return {}; }

}  // namespace moulin
