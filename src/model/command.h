// What can be asked of the core. A command carries who asks and when; ids, tokens, ports
// and hashes in it were made by the shell, so that the core makes none.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/identity.h"
#include "model/node.h"
#include "model/plan.h"
#include "model/quota.h"
#include "model/report.h"
#include "model/workload.h"

namespace moulin {

// Who gives a command.
struct Actor {
  UserName user{};        // empty: Moulin itself, which may everything
  WorkloadId workload{};  // not 0: acts with the token of this workload
  bool is_system() const { return user.empty(); }
};

namespace command {

struct NewWorkload {
  WorkloadId id{};
  WorkloadSpec spec{};
  Origin origin{};
  size_t place = 0;  // of its file in the request: elements of an array share one; refusals name it
};

// All or none. With a key: the same request again gives the same answer for a day.
struct Submit {
  std::vector<NewWorkload> workloads{};
  std::string key{};     // empty: none; at most 200 bytes
  std::string digest{};  // of the request
};

struct Stop {
  WorkloadId workload;
};
struct Pause {
  WorkloadId workload;
};
struct Resume {
  WorkloadId workload;
};
// A command is to run beside the program of a running replica. What it is stays outside.
struct BeginExec {
  WorkloadId workload{};
  ReplicaIndex replica{};
};

struct CreateTreeNode {
  TreeName name;
  TreeKind kind = TreeKind::kProject;
  TreeName parent;
  std::map<QuotaKey, Quota> quotas;
};
struct ChangeQuota {
  TreeName at;
  QuotaKey key;
  std::optional<Quota> quota;
};
struct RemoveTreeNode {
  TreeName name;
};

struct CreateUser {
  UserName name;
  std::string account;
};
// Replicas that run already keep the account that they were started under.
struct ChangeUser {
  UserName name;
  std::string account;  // empty: none any more
};
struct RemoveUser {
  UserName name;
};
struct IssueToken {
  Token token;
};
struct RevokeToken {
  TokenId id;
};
struct GrantRole {
  Binding binding;
};
struct RevokeRole {
  Binding binding;
};

struct RegisterNode {
  Node node;
};
struct ChangeNodeMode {
  NodeName node;
  NodeMode mode = NodeMode::kOpen;
};
struct ReportPresence {
  NodeName node;
  Presence presence = Presence::kUp;
};
struct ReportGpu {
  NodeName node;
  Gpu gpu;
};
struct RemoveNode {
  NodeName node;
};

struct BeginEpoch {
  std::string boot_id;
  Duration wall_offset;
  std::string version;
  bool simulated = false;
};
struct MoveWallClock {
  Duration wall_offset;
};

// An engine's report; its times are the command's.
struct TakeReport {
  EngineReport report;
};

// What the shell made for an attempt.
struct AttemptIdentity {
  std::string token;
  int32_t rendezvous_port = 0;
};

// The items of a plan, each judged again on its own: see core/plan_commands.h.
struct Start {
  StartItem item;
  AttemptIdentity identity;
};
struct Evict {
  std::vector<EvictItem> evictions;
  std::optional<Claim> claim;
};  // all or none
struct EndPass {
  Sequence seen;
  int64_t starts = 0;
  int64_t evictions = 0;
  int64_t dropped = 0;
  std::vector<WaitItem> waits;
};

// Time has passed: does what is due (limits, back-offs, claims, forgetting).
struct Tick {};

}  // namespace command

using CommandBody = std::variant<
    command::Submit, command::Stop, command::Pause, command::Resume, command::BeginExec, command::CreateTreeNode,
    command::ChangeQuota, command::RemoveTreeNode, command::CreateUser, command::ChangeUser, command::RemoveUser,
    command::IssueToken, command::RevokeToken, command::GrantRole, command::RevokeRole, command::RegisterNode,
    command::ChangeNodeMode, command::ReportPresence, command::ReportGpu, command::RemoveNode, command::BeginEpoch,
    command::MoveWallClock, command::TakeReport, command::Start, command::Evict, command::EndPass, command::Tick>;

struct Command {
  Actor actor{};
  Instant at{};
  CommandBody body{};
};

}  // namespace moulin
