// The ids and names of everything Moulin knows. See docs/glossary.md for the words.
#pragma once

#include "base/strong.h"

namespace moulin {

struct WorkloadTag { static constexpr std::string_view kPrefix = "w-"; };
struct TokenTag { static constexpr std::string_view kPrefix = "t-"; };
struct ClaimTag { static constexpr std::string_view kPrefix = "c-"; };
using WorkloadId = Id<WorkloadTag>;
using TokenId = Id<TokenTag>;

// A node of the quota tree: the organisation (the root, always called "organisation"),
// a department or a project. Departments and projects share one name space.
using TreeName = Name<struct TreeNameTag>;
using PoolName = Name<struct PoolNameTag>;
using NodeName = Name<struct NodeNameTag>;
using UserName = Name<struct UserNameTag>;
using ModelName = Name<struct ModelNameTag>;  // GPU model, e.g. "H100-80GB"
using GpuUuid = Name<struct GpuUuidTag>;      // as the driver spells it: "GPU-..." or "MIG-..."

// Runs of one workload are numbered from 1. Attempt 0 does not exist.
using AttemptNumber = Number<struct AttemptNumberTag, int32_t>;
// A life of the server, from 1. Reports of an earlier one are stale for intents that
// were given in this one.
using Epoch = Number<struct EpochTag, int64_t>;
// Position of an event in the journal, from 1, without gaps. 0: before the first.
using Sequence = Number<struct SequenceTag, int64_t>;
// Replicas of an attempt are numbered from 0.
using ReplicaIndex = Number<struct ReplicaIndexTag, int32_t>;

inline const TreeName kRootTree{"organisation"};
inline const TreeName kDefaultProject{"default"};
inline const PoolName kDefaultPool{"default"};

}  // namespace moulin
