#include "sim/virtual_engine.h"

#include <algorithm>

namespace moulin {

const ReplicaKey& key_of(const EngineReport& report) {
  return std::visit([](const auto& body) -> const ReplicaKey& { return body.key; }, report);
}

const Replica* find_replica(const State& state, const ReplicaKey& key) {
  const Workload* workload = state.workload(key.workload);
  const Attempt* attempt = workload == nullptr ? nullptr : workload->live();
  if (attempt == nullptr || attempt->number != key.attempt) return nullptr;
  return attempt->replica(key.replica);
}

const EngineRule& VirtualEngine::rule_of(WorkloadId workload) const {
  auto found = rules_.find(workload);
  return found == rules_.end() ? rule_ : found->second;
}

void VirtualEngine::report(Instant at, EngineReport report) {
  if (rng_.chance(faults_.lost)) {
    at = at + faults_.late_max;
  } else if (rng_.chance(faults_.late)) {
    at = at + Duration{rng_.below(faults_.late_max.us)};
  }
  if (rng_.chance(faults_.doubled))
    due_.emplace(Order{at + Duration{rng_.below(faults_.late_max.us)}, count_++}, report);
  due_.emplace(Order{at, count_++}, std::move(report));
}

void VirtualEngine::start(const State& after, Instant now, const ReplicaKey& key) {
  const EngineRule& rule = rule_of(key.workload);
  if (!rule.starts || !rule.answers || !heard_.insert({key, false}).second) return;
  std::string token = after.workload(key.workload)->live()->token;
  report(now + rule.starts_after, ReplicaStarted{.key = key, .token = std::move(token), .pid = 1000 + count_});
}

// A signal comes to a replica once; a later one finds it leaving.
void VirtualEngine::end(const State& after, Instant now, const ReplicaKey& key, Duration grace) {
  const EngineRule& rule = rule_of(key.workload);
  if (!rule.answers || !heard_.insert({key, true}).second) return;
  std::string token = after.workload(key.workload)->live()->token;
  bool in_time = rule.ends && rule.ends_after <= grace;
  Instant at = now + (in_time ? rule.ends_after : grace);
  if (in_time && rule.checkpoints) report(at, CheckpointSeen{.key = key, .token = token});
  Exit killed{.signal = 9};
  report(at, ReplicaExited{.key = key, .token = std::move(token), .exit = in_time ? rule.exit : killed, .usage = {}});
}

void VirtualEngine::hear(const State& after, const Event& event) {
  if (const auto* started = std::get_if<event::AttemptStarted>(&event.body)) {
    for (const ReplicaPlacement& item : started->replicas)
      start(after, event.at, {started->workload, started->attempt, item.replica});
  } else if (const auto* added = std::get_if<event::ReplicasAdded>(&event.body)) {
    for (const ReplicaPlacement& item : added->replicas)
      start(after, event.at, {added->workload, added->attempt, item.replica});
  } else if (const auto* asked = std::get_if<event::EndAsked>(&event.body)) {
    for (const Replica& replica : after.workload(asked->workload)->live()->replicas) {
      if (replica.state != ReplicaState::kExited)
        end(after, event.at, {asked->workload, asked->attempt, replica.index}, asked->grace);
    }
  } else if (const auto* surplus = std::get_if<event::ReplicaEndAsked>(&event.body)) {
    end(after, event.at, surplus->key, surplus->grace);
  } else if (const auto* ended = std::get_if<event::AttemptEnded>(&event.body)) {
    std::erase_if(heard_, [&](const auto& item) {
      return item.first.workload == ended->workload && item.first.attempt == ended->attempt;
    });
  }
}

bool VirtualEngine::is_silent(const State& state, const EngineReport& report) const {
  const Replica* replica = silent_.empty() ? nullptr : find_replica(state, key_of(report));
  return replica != nullptr && silent_.contains(replica->placement.node);
}

std::optional<Instant> VirtualEngine::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.at;
}

std::vector<EngineReport> VirtualEngine::take(const State& state, Instant now) {
  std::vector<EngineReport> reports;
  std::vector<EngineReport> held;
  while (!due_.empty() && due_.begin()->first.at <= now) {
    EngineReport report = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    (is_silent(state, report) ? held : reports).push_back(std::move(report));
  }
  // Looked at again a little later, so that next() always moves on.
  for (EngineReport& report : held) due_.emplace(Order{now + seconds(1), count_++}, std::move(report));
  return reports;
}

}  // namespace moulin
