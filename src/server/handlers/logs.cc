// What the processes of a workload wrote.
#include "core/may.h"
#include "engine/local/old_attempts.h"
#include "server/handlers/handlers.h"
#include "server/handlers/log_follower.h"

namespace moulin::handle {

namespace {

Error no_such_workload(WorkloadId id) {
  return {.code = Code::kNotFound,
          .message = "no such workload",
          .field = "workload",
          .given = to_text(id),
          .to_do = "run `moulin ps --all`"};
}

Result<LogSubject> find_subject(const Call& call, WorkloadId id) {
  std::optional<LogSubject> subject;
  if (const Workload* workload = call.state().workload(id))
    subject = log_subject_of(call.state(), *workload);
  else
    subject = TRY(past_log_subject(call.world.journal, call.state(), id));
  if (subject && may(call.state(), call.actor, Verb::kSee, subject->project)) return *std::move(subject);
  return no_such_workload(id);
}

std::string kept_text(const LogsKept& kept) {
  std::string age = kept.age.us == 0 ? "" : "for " + to_text(kept.age);
  std::string size = kept.size.count == 0 ? "" : "up to " + to_text(kept.size) + " of all attempts together";
  return age + (age.empty() || size.empty() ? "" : " and ") + size;
}

// An attempt that ran and has no folder any more.
Status check_kept(const Call& call, WorkloadId id, AttemptNumber attempt) {
  if (!replicas_on_disk(call.world.facts.data_folder, id, attempt).empty()) return {};
  if (!TRY(has_run(call.world.journal, call.state(), id, attempt))) return {};
  return Error{.code = Code::kNotFound,
               .message = "the logs of attempt " + std::to_string(attempt.value) + " were removed: logs are kept " +
                          kept_text(call.world.facts.logs_kept) + " (retention)",
               .field = "attempt",
               .given = std::to_string(attempt.value),
               .to_do = "see --keep-logs and --keep-logs-size of `moulin up`"};
}

struct Beginning {
  LogSubject subject;
  LogFollower::Place place{};
};

Result<Beginning> begin_at(const Call& call, const wire::ReadWorkloadLogs& wanted) {
  Beginning beginning{.subject = TRY(find_subject(call, wanted.workload))};
  int32_t count = beginning.subject.attempt_count;
  if (wanted.attempt && *wanted.attempt > count) {
    return Error{.code = Code::kNotFound,
                 .message = "no such attempt",
                 .field = "attempt",
                 .given = std::to_string(*wanted.attempt),
                 .allowed = "1 to " + std::to_string(count)};
  }
  if (wanted.last_event_id) beginning.place = TRY(LogFollower::parse_place(*wanted.last_event_id));
  int32_t attempt = wanted.attempt.value_or(beginning.place.attempt != 0 ? beginning.place.attempt : count);
  bool over = attempt < count || beginning.subject.newest_over;
  if (attempt > 0 && over) TRY(check_kept(call, wanted.workload, {attempt}));
  return beginning;
}

}  // namespace

void read_workload_logs(Call call) {
  in_background(std::move(call), [](Call asked) {
    Result<wire::ReadWorkloadLogs> wanted = parameters<wire::ReadWorkloadLogs>(asked);
    if (!wanted) return asked.responder.answer(problem_response(wanted.error()));
    Result<Beginning> from = begin_at(asked, *wanted);
    if (!from) return asked.responder.answer(problem_response(from.error()));
    StreamForm form = wanted->format == wire::LogFormat::kEvents ? StreamForm::kEvents : StreamForm::kPlain;
    EventStream stream = asked.responder.start_stream(form);
    auto follower = std::make_shared<LogFollower>(asked.world, std::move(*wanted), std::move(stream),
                                                  std::move(from->subject), std::move(from->place));
    follower->start();
  });
}

}  // namespace moulin::handle
