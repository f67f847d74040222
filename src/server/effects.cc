#include "server/effects.h"

namespace moulin {

namespace {

EndReason reason_of(Intent intent) {
  switch (intent) {
    case Intent::kPause: return EndReason::kPause;
    case Intent::kPreempt: return EndReason::kPreempt;
    case Intent::kFail:
    case Intent::kStop: return EndReason::kStop;
    case Intent::kNone: break;
  }
  MOULIN_UNREACHABLE();
}

// Replicas that wait for their start, from `first` on.
void start_replicas(std::vector<Effect>& out, const State& state, WorkloadId id, ReplicaIndex first,
                    const LaunchSettings& settings) {
  const Workload& workload = *state.workload(id);
  for (const Replica& replica : workload.attempts.back().replicas) {
    if (replica.index < first || replica.state != ReplicaState::kPlaced) continue;
    out.push_back(launch_of(state, workload, replica, settings));
  }
}

void end_replicas(std::vector<Effect>& out, const Workload& workload) {
  const Attempt& attempt = workload.attempts.back();
  for (const Replica& replica : attempt.replicas) {
    if (replica.state == ReplicaState::kExited) continue;
    out.push_back(EndEffect{.key = {workload.id, attempt.number, replica.index},
                            .token = attempt.token,
                            .reason = reason_of(attempt.intent),
                            .grace = workload.spec.grace});
  }
}

class Collector {
 public:
  Collector(const State& after, const LaunchSettings& settings) : after_(after), settings_(settings) {}

  void operator()(const event::AttemptStarted& event) {
    start_replicas(effects, after_, event.workload, {0}, settings_);
  }
  void operator()(const event::ReplicasAdded& event) {
    start_replicas(effects, after_, event.workload, event.replicas.front().replica, settings_);
  }
  void operator()(const event::EndAsked& event) { end_replicas(effects, *after_.workload(event.workload)); }
  void operator()(const event::ReplicaEndAsked& event) {
    effects.push_back(
        EndEffect{.key = event.key, .token = token_of(event.key), .reason = EndReason::kPreempt, .grace = event.grace});
  }
  void operator()(const event::ReplicaEnded& event) {
    effects.push_back(ReleaseEffect{event.key, token_of(event.key)});
  }
  void operator()(const event::StrangerEndAsked& event) {
    effects.push_back(EndEffect{.key = event.key, .token = event.token, .reason = EndReason::kKill, .grace = {}});
  }
  template <class Other>
  void operator()(const Other&) {}

  std::vector<Effect> effects;

 private:
  // Called right after an event of that attempt, while it is the newest.
  std::string token_of(const ReplicaKey& key) const { return after_.workload(key.workload)->attempts.back().token; }

  const State& after_;
  const LaunchSettings& settings_;
};

}  // namespace

std::vector<Effect> effects_of(const State& after, const Event& event, const LaunchSettings& settings) {
  Collector collector(after, settings);
  std::visit(collector, event.body);
  return std::move(collector.effects);
}

std::vector<Effect> standing_effects(const State& state, const LaunchSettings& settings) {
  std::vector<Effect> effects;
  for (const auto& [id, workload] : state.workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    if (attempt->intent != Intent::kNone) {
      end_replicas(effects, *workload);
      continue;
    }
    start_replicas(effects, state, id, {0}, settings);
    for (const Replica& replica : attempt->replicas) {
      if (!replica.end_asked || replica.state == ReplicaState::kExited) continue;
      effects.push_back(EndEffect{.key = {id, attempt->number, replica.index},
                                  .token = attempt->token,
                                  .reason = EndReason::kPreempt,
                                  .grace = workload->spec.grace});
    }
  }
  return effects;
}

void carry_out(Engine& engine, std::vector<Effect> effects) {
  for (Effect& effect : effects) {
    if (auto* launch = std::get_if<ReplicaLaunch>(&effect))
      engine.start(std::move(*launch));
    else if (auto* end = std::get_if<EndEffect>(&effect))
      engine.end(end->key, end->token, end->reason, end->grace);
    else if (auto* release = std::get_if<ReleaseEffect>(&effect))
      engine.release(release->key, release->token);
  }
}

}  // namespace moulin
