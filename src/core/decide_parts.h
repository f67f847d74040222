// The judges of single commands, one file for each group. Called by decide.cc alone.
#pragma once

#include "core/decide.h"

namespace moulin {

// One command being judged: collects its events.
class Case {
 public:
  Case(const Grounds& view, const Command& command) : view_(view), command_(command) {}

  const State& state() const { return view_.state; }
  const Index& index() const { return view_.index; }
  const Agenda& agenda() const { return view_.agenda; }
  const UnfinishedLimits& unfinished_limits() const { return view_.unfinished; }
  View view() const { return {view_.state, view_.index, command_.at}; }
  const Actor& actor() const { return command_.actor; }
  Instant at() const { return command_.at; }

  template <class Body>
  void happens(Body body) {
    events_.push_back({.at = command_.at, .actor = command_.actor.user, .body = std::move(body)});
  }
  Events take() { return std::move(events_); }

 private:
  const Grounds& view_;
  const Command& command_;
  Events events_;
};

Status judge(Case& c, const command::Submit& command);
Status judge(Case& c, const command::Stop& command);
Status judge(Case& c, const command::Pause& command);
Status judge(Case& c, const command::Resume& command);
Status judge(Case& c, const command::BeginExec& command);

Status judge(Case& c, const command::CreateTreeNode& command);
Status judge(Case& c, const command::ChangeQuota& command);
Status judge(Case& c, const command::RemoveTreeNode& command);

Status judge(Case& c, const command::CreateUser& command);
Status judge(Case& c, const command::ChangeUser& command);
Status judge(Case& c, const command::RemoveUser& command);
Status judge(Case& c, const command::IssueToken& command);
Status judge(Case& c, const command::RevokeToken& command);
Status judge(Case& c, const command::GrantRole& command);
Status judge(Case& c, const command::RevokeRole& command);

Status judge(Case& c, const command::RegisterNode& command);
Status judge(Case& c, const command::ChangeNodeMode& command);
Status judge(Case& c, const command::ReportPresence& command);
Status judge(Case& c, const command::ReportGpu& command);
Status judge(Case& c, const command::RemoveNode& command);
Status judge(Case& c, const command::BeginEpoch& command);
Status judge(Case& c, const command::MoveWallClock& command);

Status judge(Case& c, const command::TakeReport& command);
Status judge(Case& c, const command::Start& command);
Status judge(Case& c, const command::Evict& command);
Status judge(Case& c, const command::EndPass& command);
Status judge(Case& c, const command::Tick& command);

// The workload, for an actor who may see it; kNotFound otherwise.
Result<const Workload*> find_workload(const Case& c, WorkloadId id);

// Asks the live attempt to end. Nothing happens when an intent at least as strong holds.
void ask_end(Case& c, const Workload& workload, Intent intent, Cause cause, WorkloadId beneficiary = {});

}  // namespace moulin
