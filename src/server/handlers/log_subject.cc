#include "server/handlers/log_subject.h"

#include <algorithm>

#include "model/event.h"
#include "server/handlers/workload_wire.h"

namespace moulin {

namespace {

constexpr int32_t kPage = 1000;

// Calls `visit` for each event of the workload of one of these types, in order.
Status each_event(const Journal& journal, WorkloadId id, const std::vector<int32_t>& types,
                  const std::function<void(const Event&)>& visit) {
  for (Sequence after{}; true;) {
    int32_t count = 0;
    HistoryQuery query{.after = after, .workload = id, .types = types, .limit = kPage};
    Status read = journal.history(query, [&](const StoredRecord& record) -> Status {
      visit(TRY(decode_event(record.time, record.type, record.bytes)));
      after = record.sequence;
      ++count;
      return {};
    });
    TRY(read);
    if (count < kPage) return {};
  }
}

// Follows a workload's life as far as logs need it.
class Past {
 public:
  explicit Past(Duration wall_offset) : wall_offset_(wall_offset) {}

  static std::vector<int32_t> types() {
    return {event::WorkloadSubmitted::kType, event::AttemptStarted::kType, event::AttemptEnded::kType,
            event::WorkloadStopped::kType};
  }
  void take(const Event& event) {
    if (const auto* submitted = std::get_if<event::WorkloadSubmitted>(&event.body)) {
      subject_.emplace().project = submitted->spec.project;
      subject_->finished = true;  // what is not in memory has finished
    }
    if (!subject_) return;
    if (const auto* started = std::get_if<event::AttemptStarted>(&event.body)) {
      subject_->attempt_count = started->attempt.value;
    } else if (const auto* ended = std::get_if<event::AttemptEnded>(&event.body)) {
      subject_->now.outcome = ended->outcome;
      become(ended->next, event.at);
    } else if (std::holds_alternative<event::WorkloadStopped>(event.body)) {
      become(WorkloadState::kStopped, event.at);
    }
    subject_->now.attempt = subject_->attempt_count;
  }
  std::optional<LogSubject> subject() && { return std::move(subject_); }

 private:
  void become(WorkloadState state, Instant at) {
    subject_->now.state = state;
    subject_->now.time = wall_time(at, wall_offset_);
  }

  Duration wall_offset_;
  std::optional<LogSubject> subject_;
};

}  // namespace

LogSubject log_subject_of(const State& state, const Workload& workload) {
  return {.project = workload.spec.project,
          .finished = is_finished(workload.state),
          .attempt_count = workload.attempt_count,
          .newest_over = workload.live() == nullptr,
          .now = log_state_of(state, workload)};
}

Result<std::optional<LogSubject>> past_log_subject(const Journal& journal, const State& state, WorkloadId id) {
  Past past(state.wall_offset);
  TRY(each_event(journal, id, Past::types(), [&](const Event& event) { past.take(event); }));
  return std::move(past).subject();
}

Result<bool> has_run(const Journal& journal, const State& state, WorkloadId id, AttemptNumber attempt) {
  if (const Workload* workload = state.workload(id)) {
    auto known = std::ranges::find(workload->attempts, attempt, &Attempt::number);
    if (known != workload->attempts.end()) {
      return std::ranges::any_of(known->replicas, [](const Replica& replica) { return replica.started != Instant{}; });
    }
  }
  bool ran = false;
  TRY(each_event(journal, id, {event::ReplicaRan::kType}, [&](const Event& event) {
    const auto* one = std::get_if<event::ReplicaRan>(&event.body);
    ran = ran || (one != nullptr && one->key.attempt == attempt);
  }));
  return ran;
}

}  // namespace moulin
