#include "core/agenda.h"

namespace moulin {

namespace {

std::vector<Due> dues_of(const State& state, WorkloadId id) {
  std::vector<Due> dues;
  const Workload* workload = state.workload(id);
  if (workload == nullptr) return dues;
  const Attempt* attempt = workload->live();
  if (attempt != nullptr && attempt->running_since != Instant{} && workload->spec.duration_limit != Duration{} &&
      attempt->intent < Intent::kFail) {
    Instant end = attempt->running_since + (workload->spec.duration_limit - workload->ran);
    dues.push_back({end, DueKind::kDurationLimit, id});
  }
  bool may_start = workload->state == WorkloadState::kWaiting || workload->state == WorkloadState::kRunning;
  if (may_start && workload->eligible_from != Instant{})
    dues.push_back({workload->eligible_from, DueKind::kBackOffEnds, id});
  if (const Cow<Claim>* claim = state.claims.find(id)) dues.push_back({(*claim)->expires, DueKind::kClaimExpires, id});
  if (is_finished(workload->state)) dues.push_back({workload->finished + kFinishedKept, DueKind::kForget, id});
  return dues;
}

}  // namespace

Agenda Agenda::build(const State& state) {
  Agenda agenda;
  for (const auto& [id, workload] : state.workloads) agenda.refresh(state, id);
  for (const auto& [key, request] : state.requests) agenda.requests_.insert({request->at, key});
  return agenda;
}

void Agenda::apply(const State& after, const Event& event) {
  if (WorkloadId id = event_workload(event.body)) refresh(after, id);
  if (const auto* remembered = std::get_if<event::RequestRemembered>(&event.body)) {
    requests_.insert({after.now, {remembered->user, remembered->key}});
  } else if (const auto* forgotten = std::get_if<event::RequestsForgotten>(&event.body)) {
    requests_.erase(requests_.begin(), requests_.lower_bound({forgotten->before, RequestKey{}}));
  }
}

void Agenda::refresh(const State& state, WorkloadId id) {
  std::vector<Due>& held = by_workload_[id];
  for (const Due& due : held) {
    dues_.erase(due);
    if (due.kind == DueKind::kForget) finished_.erase({due.at, id});
  }
  held = dues_of(state, id);
  for (const Due& due : held) {
    dues_.insert(due);
    if (due.kind == DueKind::kForget) finished_.insert({due.at, id});
  }
  if (held.empty()) by_workload_.erase(id);
}

std::optional<Instant> Agenda::next() const {
  if (finished_.size() > kFinishedKeptMax) return Instant{};
  if (dues_.empty()) return std::nullopt;
  return dues_.begin()->at;
}

std::optional<Instant> Agenda::oldest_request() const {
  if (requests_.empty()) return std::nullopt;
  return requests_.begin()->first;
}

std::vector<Due> Agenda::due(Instant now, size_t count_max) const {
  std::vector<Due> result;
  for (const Due& due : dues_) {
    if (due.at > now || result.size() == count_max) break;
    result.push_back(due);
  }
  return result;
}

std::vector<WorkloadId> Agenda::surplus_finished(size_t count_max) const {
  std::vector<WorkloadId> result;
  size_t surplus = finished_.size() > kFinishedKeptMax ? finished_.size() - kFinishedKeptMax : 0;
  for (auto at = finished_.begin(); result.size() < std::min(surplus, count_max); ++at) result.push_back(at->second);
  return result;
}

}  // namespace moulin
