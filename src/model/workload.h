// A workload and its attempts, as the core knows them. Which state may follow which is
// one table: core/transitions.h; the drawing is in docs/life_of_a_workload.md.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/grant.h"
#include "model/reason.h"
#include "model/report.h"
#include "model/workload_spec.h"

namespace moulin {

enum class WorkloadState { kWaiting, kStarting, kRunning, kStopping, kPaused, kSucceeded, kFailed, kStopped };
template <>
inline constexpr auto kWords<WorkloadState> = std::to_array<std::string_view>(
    {"waiting", "starting", "running", "stopping", "paused", "succeeded", "failed", "stopped"});

constexpr bool is_finished(WorkloadState state) { return state >= WorkloadState::kSucceeded; }
// True when an attempt is live: something is held.
constexpr bool is_live(WorkloadState state) {
  return state == WorkloadState::kStarting || state == WorkloadState::kRunning || state == WorkloadState::kStopping;
}

enum class AttemptState { kStarting, kRunning, kStopping, kEnded };
template <>
inline constexpr auto kWords<AttemptState> =
    std::to_array<std::string_view>({"starting", "running", "stopping", "ended"});

enum class ReplicaState { kPlaced, kRunning, kExited };
template <>
inline constexpr auto kWords<ReplicaState> = std::to_array<std::string_view>({"placed", "running", "exited"});

enum class Outcome { kNone, kSucceeded, kFailed, kPreempted, kPaused, kStopped, kNodeLost };
template <>
inline constexpr auto kWords<Outcome> =
    std::to_array<std::string_view>({"none", "succeeded", "failed", "preempted", "paused", "stopped", "node_lost"});

// Why Moulin ended an attempt or a surplus replica.
enum class Cause {
  kNone,
  kHigherClass,
  kHigherPriority,
  kGuaranteeReclaim,
  kFairShareReclaim,
  kMove,
  kDrain,
  kUnhealthy,
  kGangBelowMinimum,
  kLimit,
  kIdle,
  kBudget,
};
template <>
inline constexpr auto kWords<Cause> = std::to_array<std::string_view>(
    {"none", "higher_class", "higher_priority", "guarantee_reclaim", "fair_share_reclaim", "move", "drain", "unhealthy",
     "gang_below_minimum", "limit", "idle", "budget"});

// What is wanted of a live attempt; a larger one replaces a smaller one, never the reverse.
enum class Intent { kNone, kPause, kPreempt, kFail, kStop };
template <>
inline constexpr auto kWords<Intent> = std::to_array<std::string_view>({"none", "pause", "preempt", "fail", "stop"});

// GPU held over time, in millionths of a GPU-second (one thousandth of a device for one
// millisecond). 2^63 of them are 290,000 GPU-years.
struct GpuTime {
  int64_t micro = 0;
  auto operator<=>(const GpuTime&) const = default;
  GpuTime& operator+=(GpuTime other) {
    micro += other.micro;
    return *this;
  }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "micro", self.micro);
  }
};
constexpr GpuTime gpu_time(Share share, Duration duration) { return {share.milli * (duration.us / 1000)}; }

struct Replica {
  ReplicaIndex index{};
  ReplicaState state = ReplicaState::kPlaced;
  Placement placement{};
  Instant placed{};  // holds its placement from here ...
  Instant started{};
  Instant ended{};  // ... to here
  int64_t pid = 0;
  bool end_asked = false;      // a surplus replica that was asked to end
  Cause cause = Cause::kNone;  // of that
  Instant leaves_by{};         // when asked to end: the end of its grace; 0: unknown
  Exit exit{};
  Usage usage{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "index", self.index);
    visit(2, "state", self.state);
    visit(3, "placement", self.placement);
    visit(4, "placed", self.placed);
    visit(5, "started", self.started);
    visit(6, "ended", self.ended);
    visit(7, "pid", self.pid);
    visit(8, "end_asked", self.end_asked);
    visit(9, "cause", self.cause);
    visit(10, "exit", self.exit);
    visit(11, "usage", self.usage);
    visit(12, "leaves_by", self.leaves_by);
  }
  bool operator==(const Replica&) const = default;
};

// What is left of ended replicas that an attempt no longer lists.
struct DroppedReplicas {
  int64_t count = 0;
  GpuTime held{};
  GpuTime unsaved{};  // of that: since the newest checkpoint
  Duration gpu_active{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "count", self.count);
    visit(2, "held", self.held);
    visit(3, "unsaved", self.unsaved);
    visit(4, "gpu_active", self.gpu_active);
  }
  bool operator==(const DroppedReplicas&) const = default;
};

struct Attempt {
  AttemptNumber number{};
  AttemptState state = AttemptState::kStarting;
  Epoch epoch{};                    // in which it was started
  std::string token{};              // proves that a process is of this attempt
  int32_t rendezvous_port = 0;      // MASTER_PORT of a gang; 0: none
  std::vector<Replica> replicas{};  // in order of their index; growth appends, see kEndedReplicasKept
  Instant created{};                // when it was placed
  Instant running_since{};          // 0: not all of its minimum have started
  Instant ended{};
  Instant checkpointed{};  // newest acknowledged checkpoint; 0: none
  Intent intent = Intent::kNone;
  Cause cause = Cause::kNone;
  WorkloadId evicted_for{};
  Outcome outcome = Outcome::kNone;
  GpuTime held{};       // set when it ended
  GpuTime lost{};       // held since the newest checkpoint, when preempted or lost
  Instant leaves_by{};  // when asked to end: the end of the grace; 0: unknown
  int64_t crashes = 0;  // of replicas of a service, since one last ran well: see ending.h
  DroppedReplicas dropped{};

  // nullptr: never placed, or dropped.
  const Replica* replica(ReplicaIndex index) const {
    auto found = std::ranges::lower_bound(replicas, index, {}, &Replica::index);
    return found != replicas.end() && found->index == index ? &*found : nullptr;
  }
  Replica* replica(ReplicaIndex index) { return const_cast<Replica*>(std::as_const(*this).replica(index)); }
  // The index of the next one: they are never used twice.
  ReplicaIndex next_replica() const { return {replicas.empty() ? 0 : replicas.back().index.value + 1}; }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "number", self.number);
    visit(2, "state", self.state);
    visit(3, "epoch", self.epoch);
    visit(4, "token", self.token);
    visit(5, "rendezvous_port", self.rendezvous_port);
    visit(6, "replicas", self.replicas);
    visit(7, "created", self.created);
    visit(8, "running_since", self.running_since);
    visit(9, "ended", self.ended);
    visit(10, "checkpointed", self.checkpointed);
    visit(11, "intent", self.intent);
    visit(12, "cause", self.cause);
    visit(13, "evicted_for", self.evicted_for);
    visit(14, "outcome", self.outcome);
    visit(15, "held", self.held);
    visit(16, "lost", self.lost);
    visit(17, "leaves_by", self.leaves_by);
    visit(18, "crashes", self.crashes);
    visit(19, "dropped", self.dropped);
  }
  bool operator==(const Attempt&) const = default;
};

// Ended replicas that count no more (surplus that was asked to end, predecessors of a
// replica of a service) are listed up to this many, the newest; the others are dropped
// when the attempt grows.
inline constexpr int64_t kEndedReplicasKept = 100;

enum class OriginKind { kUser, kArray };
template <>
inline constexpr auto kWords<OriginKind> = std::to_array<std::string_view>({"user", "array"});

struct Origin {
  OriginKind kind = OriginKind::kUser;
  std::string name{};  // of the array
  int64_t index = 0;   // MOULIN_ARRAY_INDEX
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "kind", self.kind);
    visit(2, "name", self.name);
    visit(3, "index", self.index);
  }
  bool operator==(const Origin&) const = default;
};

struct Workload {
  WorkloadId id{};
  WorkloadSpec spec{};
  UserName owner{};
  Origin origin{};
  Instant submitted{};  // kept over all attempts: the age
  WorkloadState state = WorkloadState::kWaiting;
  Instant state_since{};
  std::vector<Attempt> attempts{};  // the newest kAttemptsKept; the last may be live
  int32_t attempt_count = 0;        // all of them
  int64_t retries = 0;              // reruns that counted
  Instant eligible_from{};          // back-off ends here
  Duration ran{};                   // running time of ended attempts
  int64_t preemptions = 0;
  WorkloadId evicted_by{};  // a resumed workload stays behind the one that evicted it
  GpuTime held{};           // of ended attempts
  GpuTime lost{};
  Duration gpu_active{};                  // of ended attempts
  std::vector<ReasonCode> waiting_for{};  // what the last pass found; empty unless waiting
  Instant finished{};
  bool pause_wanted = false;  // once the live attempt, asked to end for more, has ended
  const Attempt* live() const { return is_live(state) ? &attempts.back() : nullptr; }
  Attempt* live() { return is_live(state) ? &attempts.back() : nullptr; }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "id", self.id);
    visit(2, "spec", self.spec);
    visit(3, "owner", self.owner);
    visit(4, "origin", self.origin);
    visit(5, "submitted", self.submitted);
    visit(6, "state", self.state);
    visit(7, "state_since", self.state_since);
    visit(8, "attempts", self.attempts);
    visit(9, "attempt_count", self.attempt_count);
    visit(10, "retries", self.retries);
    visit(11, "eligible_from", self.eligible_from);
    visit(12, "ran", self.ran);
    visit(13, "preemptions", self.preemptions);
    visit(14, "evicted_by", self.evicted_by);
    visit(15, "held", self.held);
    visit(16, "lost", self.lost);
    visit(17, "gpu_active", self.gpu_active);
    visit(18, "waiting_for", self.waiting_for);
    visit(19, "finished", self.finished);
    visit(20, "pause_wanted", self.pause_wanted);
  }
  bool operator==(const Workload&) const = default;
};
inline constexpr size_t kAttemptsKept = 20;

}  // namespace moulin
