// What engines report.
#include "core/decide_parts.h"
#include "core/ending.h"

namespace moulin {

namespace {

// The replica that a report is about, when it is of a live attempt and carries its token.
struct Reported {
  const Workload* workload = nullptr;
  const Attempt* attempt = nullptr;
  const Replica* replica = nullptr;
  explicit operator bool() const { return replica != nullptr; }
};

Reported reported(const State& state, const ReplicaKey& key, const std::string& token) {
  const Workload* workload = state.workload(key.workload);
  const Attempt* attempt = workload == nullptr ? nullptr : workload->live();
  if (attempt == nullptr || attempt->number != key.attempt || attempt->token != token) return {};
  return {workload, attempt, attempt->replica(key.replica)};
}

// At most kStaleMost a minute are recorded: an engine that goes on about the dead must
// not fill the journal.
void stale(Case& c, const ReplicaKey& key, std::string_view what) {
  const StaleRate& rate = c.state().stale_rate;
  bool same_minute = c.at() < rate.since + minutes(1);
  if (same_minute && rate.count >= kStaleMost) return;
  int64_t of_minute = same_minute ? rate.count + 1 : 1;
  c.happens(event::StaleReported{.key = key, .what = std::string(what), .of_minute = of_minute});
}

void take(Case& c, const ReplicaStarted& report) {
  Reported about = reported(c.state(), report.key, report.token);
  if (!about) return stale(c, report.key, "replica_started");
  if (about.replica->state != ReplicaState::kPlaced) return;
  c.happens(event::ReplicaRan{.key = report.key, .pid = report.pid});
  Attempt attempt = *about.attempt;
  attempt.replica(report.key.replica)->state = ReplicaState::kRunning;
  if (is_up(*about.workload, attempt)) {
    c.happens(event::AttemptRan{.workload = report.key.workload, .attempt = report.key.attempt});
  }
}

void take(Case& c, const CheckpointSeen& report) {
  Reported about = reported(c.state(), report.key, report.token);
  if (!about) return stale(c, report.key, "checkpoint_seen");
  c.happens(event::CheckpointWritten{.key = report.key});
}

void take(Case& c, const UsageMeasured& report) {
  Reported about = reported(c.state(), report.key, report.token);
  if (!about) return stale(c, report.key, "usage_measured");
  if (about.replica->state == ReplicaState::kExited) return;
  c.happens(event::UsageRecorded{.key = report.key, .usage = report.usage});
}

void take(Case& c, const ReplicaExited& report) {
  Reported about = reported(c.state(), report.key, report.token);
  if (!about) return stale(c, report.key, "replica_exited");
  if (about.replica->state == ReplicaState::kExited) return;
  end_replica(c, *about.workload, report);
}

void take(Case& c, const StrangerFound& report) {
  Reported about = reported(c.state(), report.key, report.token);
  if (about && about.replica->state != ReplicaState::kExited) return;
  c.happens(event::StrangerEndAsked{.key = report.key, .token = report.token});
}

}  // namespace

Status judge(Case& c, const command::TakeReport& command) {
  std::visit([&](const auto& report) { take(c, report); }, command.report);
  return {};
}

}  // namespace moulin
