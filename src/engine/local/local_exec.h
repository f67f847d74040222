// A command beside a replica of this machine, through the shim of that replica.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "boundary/exec.h"
#include "shim/fd.h"

namespace moulin {

// `folder` is that of the attempt. kNotFound, kUnavailable: no shim answers there. What else
// can be wrong is told by the channel, in its outcome: a shim that is too old, a replica
// that does not run.
Result<std::unique_ptr<ExecChannel>> open_exec_channel(const Fd& folder, const std::string& token,
                                                       const ExecCommand& command);

}  // namespace moulin
