// What `run` does after it has submitted: show what the job writes until it ends.
#pragma once

#include "cli/follow.h"

namespace moulin::cli {

// Follows the workload and gives its exit status. On Ctrl-C a person is asked whether to
// detach (0) or to stop it; without a person it detaches (128 and the signal).
Result<int> run_follow(Session& session, const wire::SubmittedWorkload& workload);

}  // namespace moulin::cli
