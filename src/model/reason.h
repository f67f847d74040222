// Why a workload waits, and what would start it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/instant.h"
#include "model/names.h"

namespace moulin {

// In the order of what to do about them. The first two refuse a submission.
enum class ReasonCode {
  kNeverFits,        // no registered node could hold it when empty
  kLimitExceeded,    // alone above a limit of its project or an ancestor
  kProjectLimit,     // the project is at its limit
  kAncestorLimit,    // a department or the organisation is
  kGuaranteeNeeded,  // production must fit inside the guarantee
  kBudget,
  kModelUnavailable,  // devices of the wanted models are all taken, others are free
  kNoCapacity,
  kNoGpuMemory,
  kNoCpu,
  kNoMemory,
  kFragmented,  // enough in total, nowhere whole
  kGangShort,   // k of n replicas would fit
  kTopology,
  kAffinity,
  kProtected,  // somebody could be evicted, but for a protection
  kReservedFor,
  kClaimedBy,
  kBehind,  // others are served first
  kDependency,
  kNotBefore,
  kBackOff,
  kNodeUnavailable,  // it would fit on a cordoned, draining, down or unhealthy one
  kEngineError,
};
template <>
inline constexpr auto kWords<ReasonCode> = std::to_array<std::string_view>(
    {"never_fits", "limit_exceeded",    "project_limit",    "ancestor_limit", "guarantee_needed",
     "budget",     "model_unavailable", "no_capacity",      "no_gpu_memory",  "no_cpu",
     "no_memory",  "fragmented",        "gang_short",       "topology",       "affinity",
     "protected",  "reserved_for",      "claimed_by",       "behind",         "dependency",
     "not_before", "back_off",          "node_unavailable", "engine_error"});

struct Reason {
  ReasonCode code = ReasonCode::kNoCapacity;
  std::string text{};                          // a sentence with the numbers in it
  std::map<std::string, int64_t> numbers{};    // e.g. free_milli, needed_milli, largest_milli
  std::map<std::string, std::string> names{};  // e.g. project, workload, node
  bool operator==(const Reason&) const = default;
};

// What part of a workload, or of its quota, a change is about.
enum class Dimension { kShare, kGpuMemory, kCpu, kMemory, kModel, kClass, kReplicas, kTopology, kQuota };
template <>
inline constexpr auto kWords<Dimension> = std::to_array<std::string_view>(
    {"share", "gpu_memory", "cpu", "memory", "model", "class", "replicas", "topology", "quota"});

// The smallest change in one dimension that would start the workload now; verified by
// applying it in an overlay. Amounts: thousandths of a device in all for kShare and
// kQuota of gpu, bytes, thousandths of a core, or a count.
struct Change {
  Dimension dimension = Dimension::kShare;
  std::optional<int64_t> from{};
  std::optional<int64_t> to{};
  std::string from_word{};  // for kModel, kClass, kTopology
  std::string to_word{};
  std::string at{};    // kQuota: the tree node whose limit or guarantee it is
  std::string text{};  // a sentence: "ask for 0.25 GPU instead of 0.5"
  bool starts_now = true;
  bool operator==(const Change&) const = default;
};

struct Explanation {
  std::vector<Reason> reasons{};
  std::vector<Change> changes{};
  std::optional<Instant> expected_start{};
  std::string expected_start_reason{};  // why there is none
};

}  // namespace moulin
