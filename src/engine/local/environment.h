// The environment of a replica: what the launch says, completed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "boundary/engine.h"

namespace moulin {

// Variables that a replica takes from the server when its launch does not set them:
// PATH and LANG, and HOME unless it runs under another account (then the shim knows).
using InheritedEnvironment = std::map<std::string, std::string>;

// "NAME=value" in order of name. Adds, unless the launch has them:
//   MOULIN_WORKLOAD_ID, MOULIN_ATTEMPT, MOULIN_REPLICA  who it is
//   MOULIN_FLAG_FILE        appears with the signal that asks it to end
//   MOULIN_CHECKPOINT_FILE  to be replaced at each checkpoint
//   MOULIN_DONE_FILE        to be made when everything is done
//   MOULIN_ACTIVITY_FILE    may hold its GPU activity in per cent
//   MOULIN_GPU_SHARES       thousandths of each device, in the order of CUDA_VISIBLE_DEVICES
//   CUDA_VISIBLE_DEVICES    UUIDs; empty without a grant, so that no device is taken unasked
//   OMP_NUM_THREADS         the CPU limit in whole cores, if there is one
// Always sets MOULIN_MARK, by which processes of the replica are found when their shim
// was killed.
struct AttemptPlace {
  const std::string& folder;  // of the attempt
  const std::string& mark;    // of replica_mark()
};
std::vector<std::string> replica_environment(const ReplicaLaunch& launch, const AttemptPlace& place,
                                             const InheritedEnvironment& inherited);

// The checkpoint file: as declared, else `checkpoint` in a folder that outlives attempts.
// `folder` is that of the attempt.
std::string checkpoint_file(const ReplicaLaunch& launch, const std::string& folder);

// Tells attempts apart without telling what they are told apart by: their token, and
// before it the id of the installation.
std::string replica_mark(const ReplicaKey& key, const std::string& secret);

}  // namespace moulin
