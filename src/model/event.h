// Everything that can happen, in the past tense.
//
// The state is a fold of these. An event is judged before it is made (core/decide.h) and
// never refused afterwards. Types and field numbers are for ever: new fields are added at
// the end with a default that means what their absence meant; a changed meaning is a new
// event with a new type. docs/journal_format.md lists them.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/identity.h"
#include "model/node.h"
#include "model/plan.h"
#include "model/quota.h"
#include "model/workload.h"

// The type number and the word of an event.
#define MOULIN_EVENT(number, word)         \
  static constexpr int32_t kType = number; \
  static constexpr std::string_view kWord = word

namespace moulin::event {

// ---- The server ----

// A server began to serve. Instants of this machine go on from `at`; wall time is
// Instant + wall_offset.
struct EpochBegan {
  MOULIN_EVENT(1, "epoch_began");
  Epoch epoch{};
  std::string boot_id{};
  Duration wall_offset{};
  std::string version{};
  bool simulated = false;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "epoch", self.epoch);
    visit(2, "boot_id", self.boot_id);
    visit(3, "wall_offset", self.wall_offset);
    visit(4, "version", self.version);
    visit(5, "simulated", self.simulated);
  }
};

struct WallClockMoved {
  MOULIN_EVENT(2, "wall_clock_moved");
  Duration wall_offset{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "wall_offset", self.wall_offset);
  }
};

// A request was answered and may come again under the same key within a day.
struct RequestRemembered {
  MOULIN_EVENT(3, "request_remembered");
  UserName user{};
  std::string key{};
  std::string digest{};            // of the request, so that another one under this key is refused
  std::vector<WorkloadId> made{};  // what it made
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "user", self.user);
    visit(2, "key", self.key);
    visit(3, "digest", self.digest);
    visit(4, "made", self.made);
  }
};

struct RequestsForgotten {
  MOULIN_EVENT(4, "requests_forgotten");
  Instant before{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "before", self.before);
  }
};

// ---- The quota tree ----

struct TreeNodeCreated {
  MOULIN_EVENT(10, "tree_node_created");
  TreeNode node{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
  }
};

struct QuotaChanged {
  MOULIN_EVENT(11, "quota_changed");
  TreeName at{};
  QuotaKey key{};
  std::optional<Quota> quota{};  // absent: back to the default
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "at", self.at);
    visit(2, "key", self.key);
    visit(3, "quota", self.quota);
  }
};

struct TreeNodeRemoved {
  MOULIN_EVENT(12, "tree_node_removed");
  TreeName name{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
  }
};

// ---- Identity ----

struct UserCreated {
  MOULIN_EVENT(20, "user_created");
  User user{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "user", self.user);
  }
};

struct UserChanged {
  MOULIN_EVENT(26, "user_changed");
  UserName name{};
  std::string account{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
    visit(2, "account", self.account);
  }
};

// Their tokens and bindings go with them.
struct UserRemoved {
  MOULIN_EVENT(21, "user_removed");
  UserName name{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
  }
};

struct TokenIssued {
  MOULIN_EVENT(22, "token_issued");
  Token token{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "token", self.token);
  }
};

struct TokenRevoked {
  MOULIN_EVENT(23, "token_revoked");
  TokenId id{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "id", self.id);
  }
};

struct RoleGranted {
  MOULIN_EVENT(24, "role_granted");
  Binding binding{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "binding", self.binding);
  }
};

struct RoleRevoked {
  MOULIN_EVENT(25, "role_revoked");
  Binding binding{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "binding", self.binding);
  }
};

// ---- Hardware ----

// A new node, or a known one whose facts changed. Mode is kept from before.
struct NodeRegistered {
  MOULIN_EVENT(30, "node_registered");
  Node node{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
  }
};

struct NodeModeChanged {
  MOULIN_EVENT(31, "node_mode_changed");
  NodeName node{};
  NodeMode mode = NodeMode::kOpen;
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
    visit(2, "mode", self.mode);
    visit(3, "by", self.by);
  }
};

struct NodePresenceChanged {
  MOULIN_EVENT(32, "node_presence_changed");
  NodeName node{};
  Presence presence = Presence::kUp;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
    visit(2, "presence", self.presence);
  }
};

// Health or foreign use of one device changed.
struct GpuChanged {
  MOULIN_EVENT(33, "gpu_changed");
  NodeName node{};
  Gpu gpu{};  // the same index and UUID as before
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
    visit(2, "gpu", self.gpu);
  }
};

struct NodeRemoved {
  MOULIN_EVENT(34, "node_removed");
  NodeName node{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
  }
};

// ---- Workloads ----

struct WorkloadSubmitted {
  MOULIN_EVENT(40, "workload_submitted");
  WorkloadId workload{};
  WorkloadSpec spec{};
  UserName owner{};
  Origin origin{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "spec", self.spec);
    visit(3, "owner", self.owner);
    visit(4, "origin", self.origin);
  }
};

// Replicas 0 .. n-1 were placed and the engine is to start them. Its claim is released.
struct AttemptStarted {
  MOULIN_EVENT(41, "attempt_started");
  WorkloadId workload{};
  AttemptNumber attempt{};
  Epoch epoch{};
  std::string token{};
  int32_t rendezvous_port = 0;
  std::vector<ReplicaPlacement> replicas{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
    visit(3, "epoch", self.epoch);
    visit(4, "token", self.token);
    visit(5, "rendezvous_port", self.rendezvous_port);
    visit(6, "replicas", self.replicas);
  }
};

struct ReplicasAdded {
  MOULIN_EVENT(42, "replicas_added");
  WorkloadId workload{};
  AttemptNumber attempt{};
  std::vector<ReplicaPlacement> replicas{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
    visit(3, "replicas", self.replicas);
  }
};

struct ReplicaRan {
  MOULIN_EVENT(43, "replica_ran");
  ReplicaKey key{};
  int64_t pid = 0;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "pid", self.pid);
  }
};

// The minimum of its replicas run: starting becomes running.
struct AttemptRan {
  MOULIN_EVENT(44, "attempt_ran");
  WorkloadId workload{};
  AttemptNumber attempt{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
  }
};

struct CheckpointWritten {
  MOULIN_EVENT(45, "checkpoint_written");
  ReplicaKey key{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
  }
};

struct UsageRecorded {
  MOULIN_EVENT(46, "usage_recorded");
  ReplicaKey key{};
  Usage usage{};  // since the replica started
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "usage", self.usage);
  }
};

// The live attempt is to end; the engine signals, waits up to `grace`, kills.
struct EndAsked {
  MOULIN_EVENT(47, "end_asked");
  WorkloadId workload{};
  AttemptNumber attempt{};
  Intent intent = Intent::kStop;
  Cause cause = Cause::kNone;
  WorkloadId beneficiary{};
  UserName by{};  // empty: Moulin
  Duration grace{};
  Instant leaves_by{};      // the end of the grace
  bool then_pause = false;  // somebody asked for a pause before, which stays wanted
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
    visit(3, "intent", self.intent);
    visit(4, "cause", self.cause);
    visit(5, "beneficiary", self.beneficiary);
    visit(6, "by", self.by);
    visit(7, "grace", self.grace);
    visit(8, "leaves_by", self.leaves_by);
    visit(9, "then_pause", self.then_pause);
  }
};

// One surplus replica is to end; the attempt goes on.
struct ReplicaEndAsked {
  MOULIN_EVENT(48, "replica_end_asked");
  ReplicaKey key{};
  Cause cause = Cause::kNone;
  WorkloadId beneficiary{};
  Duration grace{};
  Instant leaves_by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "cause", self.cause);
    visit(3, "beneficiary", self.beneficiary);
    visit(4, "grace", self.grace);
    visit(5, "leaves_by", self.leaves_by);
  }
};

// The replica and all its children are gone; what it held is free.
struct ReplicaEnded {
  MOULIN_EVENT(49, "replica_ended");
  ReplicaKey key{};
  Exit exit{};
  Usage usage{};
  Instant regrow_from{};  // of a service: no replica takes its place before this
  int64_t crashes = 0;    // of a service: Attempt::crashes from now on
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "exit", self.exit);
    visit(3, "usage", self.usage);
    visit(4, "regrow_from", self.regrow_from);
    visit(5, "crashes", self.crashes);
  }
};

struct AttemptEnded {
  MOULIN_EVENT(50, "attempt_ended");
  WorkloadId workload{};
  AttemptNumber attempt{};
  Outcome outcome = Outcome::kNone;
  GpuTime lost{};  // work that must be done again
  WorkloadState next = WorkloadState::kWaiting;
  Instant eligible_from{};  // when next is waiting: end of the back-off
  bool counts_as_retry = false;
  bool ran_well = false;  // the reruns before it are forgiven
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
    visit(3, "outcome", self.outcome);
    visit(4, "lost", self.lost);
    visit(5, "next", self.next);
    visit(6, "eligible_from", self.eligible_from);
    visit(7, "counts_as_retry", self.counts_as_retry);
    visit(8, "ran_well", self.ran_well);
  }
};

// Without a live attempt.
struct WorkloadStopped {
  MOULIN_EVENT(51, "workload_stopped");
  WorkloadId workload{};
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "by", self.by);
  }
};

// Without a live attempt.
struct WorkloadPaused {
  MOULIN_EVENT(52, "workload_paused");
  WorkloadId workload{};
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "by", self.by);
  }
};

struct WorkloadResumed {
  MOULIN_EVENT(53, "workload_resumed");
  WorkloadId workload{};
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "by", self.by);
  }
};

// A finished workload left the memory; history keeps it.
struct WorkloadForgotten {
  MOULIN_EVENT(54, "workload_forgotten");
  WorkloadId workload{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
  }
};

// A report of an attempt that is over or was never given; recorded and not applied.
struct StaleReported {
  MOULIN_EVENT(55, "stale_reported");
  ReplicaKey key{};
  std::string what{};
  int64_t of_minute = 0;  // how many were recorded in this minute, with this one
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "what", self.what);
    visit(3, "of_minute", self.of_minute);
  }
};

// A process with our mark that we do not know is to be ended.
struct StrangerEndAsked {
  MOULIN_EVENT(56, "stranger_end_asked");
  ReplicaKey key{};
  std::string token{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "token", self.token);
  }
};

// A pause is wanted of a workload whose attempt is already asked to end for something
// stronger: when it would wait again, it is paused.
struct PauseAsked {
  MOULIN_EVENT(58, "pause_asked");
  WorkloadId workload{};
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "by", self.by);
  }
};

// Somebody runs a command beside a replica. Recorded for people; the command and what it
// says and hears are in no journal and no log.
struct ExecBegan {
  MOULIN_EVENT(59, "exec_began");
  ReplicaKey key{};
  UserName by{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "key", self.key);
    visit(2, "by", self.by);
  }
};

// A waiting workload, or the missing replica of a service, may start again.
struct BackOffEnded {
  MOULIN_EVENT(57, "back_off_ended");
  WorkloadId workload{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
  }
};

// ---- Scheduling ----

struct ClaimMade {
  MOULIN_EVENT(60, "claim_made");
  Claim claim{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "claim", self.claim);
  }
};

struct ClaimReleased {
  MOULIN_EVENT(61, "claim_released");
  WorkloadId owner{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "owner", self.owner);
  }
};

// A pass of the scheduler ended; the workloads whose reasons changed are listed.
struct PassEnded {
  MOULIN_EVENT(70, "pass_ended");
  Sequence seen{};
  int64_t starts = 0;
  int64_t evictions = 0;
  int64_t dropped = 0;  // items that no longer held
  std::vector<WaitItem> waits{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "seen", self.seen);
    visit(2, "starts", self.starts);
    visit(3, "evictions", self.evictions);
    visit(4, "dropped", self.dropped);
    visit(5, "waits", self.waits);
  }
};

}  // namespace moulin::event

namespace moulin {

using EventBody =
    std::variant<event::EpochBegan, event::WallClockMoved, event::RequestRemembered, event::RequestsForgotten,
                 event::TreeNodeCreated, event::QuotaChanged, event::TreeNodeRemoved, event::UserCreated,
                 event::UserChanged, event::UserRemoved, event::TokenIssued, event::TokenRevoked, event::RoleGranted,
                 event::RoleRevoked, event::NodeRegistered, event::NodeModeChanged, event::NodePresenceChanged,
                 event::GpuChanged, event::NodeRemoved, event::WorkloadSubmitted, event::AttemptStarted,
                 event::ReplicasAdded, event::ReplicaRan, event::AttemptRan, event::CheckpointWritten,
                 event::UsageRecorded, event::EndAsked, event::ReplicaEndAsked, event::ReplicaEnded,
                 event::AttemptEnded, event::WorkloadStopped, event::WorkloadPaused, event::WorkloadResumed,
                 event::WorkloadForgotten, event::StaleReported, event::StrangerEndAsked, event::BackOffEnded,
                 event::ClaimMade, event::ClaimReleased, event::PassEnded, event::PauseAsked, event::ExecBegan>;

struct Event {
  Instant at{};      // of the command that caused it
  UserName actor{};  // who gave that command; empty: Moulin
  EventBody body{};
};

int32_t event_type(const EventBody& body);
std::string_view event_word(const EventBody& body);  // "workload_submitted"
std::string_view event_word(int32_t type);           // empty when unknown
WorkloadId event_workload(const EventBody& body);    // 0: about no workload

// The bytes of an event as the journal keeps them: version, actor, body. The instant and
// the type are columns of their own.
std::string encode_event(const Event& event);

// kInternal: unknown type or version, or damaged bytes.
Result<Event> decode_event(Instant at, int32_t type, std::string_view bytes);

}  // namespace moulin
