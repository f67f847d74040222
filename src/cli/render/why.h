// `why` as a colleague would tell it: what is in the way, the numbers, when it will
// start, and the command that would start it now.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

std::string render_why(const wire::Workload& workload, const wire::Explanation& explanation, const View& view);

// Reasons, numbers and changes of an explanation, without the workload; for a dry run.
std::string render_explanation(const wire::Explanation& explanation, const View& view);

// The command that applies a change to a workload; empty when there is none.
std::string change_command(const wire::Workload& workload, const wire::Explanation& explanation,
                           const wire::Change& change);

}  // namespace moulin::cli
