// What a reader of logs must know of a workload. Also of one that finished long ago: it has
// left the memory, and its logs have not left the disk.
#pragma once

#include <optional>

#include "api/operations.h"
#include "boundary/journal.h"
#include "model/state.h"

namespace moulin {

struct LogSubject {
  TreeName project{};
  bool finished = false;
  int32_t attempt_count = 0;
  bool newest_over = true;  // no attempt runs
  wire::LogState now{};
};
LogSubject log_subject_of(const State& state, const Workload& workload);

// From the journal; nothing when there never was such a workload. Costs a look at each of
// its records.
Result<std::optional<LogSubject>> past_log_subject(const Journal& journal, const State& state, WorkloadId id);

// Did a process of this attempt ever run, so that it has or had logs?
Result<bool> has_run(const Journal& journal, const State& state, WorkloadId id, AttemptNumber attempt);

}  // namespace moulin
