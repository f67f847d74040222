// Removing the folders of attempts that nobody needs any more: logs are kept for a time
// and up to a size. Safe beside an engine on the same data folder: what runs or was not
// released is left alone. No link is followed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

struct LogsKept {
  Duration age = hours(24 * 30);  // since the attempt last wrote anything; 0: for ever
  Bytes size = gibibytes(50);     // of all attempts together; 0: no limit
};

// How much of a workload may go.
enum class Needed {
  kAll,      // e.g. it is not known whether it has ended
  kNewest,   // unfinished: its newest attempt, and its checkpoint, stay
  kNothing,  // finished
};
struct WorkloadNeeds {
  Needed needed = Needed::kAll;
  AttemptNumber newest{};
};

struct OldAttempts {
  const std::string& data_folder;
  const LogsKept& kept;
  int64_t wall_now_us = 0;                         // files carry wall clock times
  std::function<WorkloadNeeds(WorkloadId)> needs;  // asked again right before each removal
  std::function<bool()> stop;                      // true: leave the rest for another time
};
struct RemovedAttempts {
  int64_t attempts = 0;
  Bytes size{};
};
// Removes what is older than the age, then the oldest until the size is kept. With the last
// attempt of a finished workload its checkpoint goes too. Costs a look at each file of all
// attempts. kUnavailable: the folder cannot be read; a folder that cannot be removed is
// passed over.
Result<RemovedAttempts> remove_old_attempts(const OldAttempts& job);

// The replicas of an attempt that have a folder, in order; empty: none is there (any more).
std::vector<ReplicaIndex> replicas_on_disk(const std::string& data_folder, WorkloadId workload, AttemptNumber attempt);

}  // namespace moulin
