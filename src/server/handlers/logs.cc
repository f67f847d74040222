// What the processes of a workload wrote.
#include "core/may.h"
#include "server/handlers/handlers.h"
#include "server/handlers/log_follower.h"

namespace moulin::handle {

namespace {

Result<LogFollower::Place> begin_at(const Call& call, const wire::ReadWorkloadLogs& wanted) {
  const Workload* workload = call.state().workload(wanted.workload);
  if (workload == nullptr || !may(call.state(), call.actor, Verb::kSee, workload->spec.project)) {
    return Error{.code = Code::kNotFound,
                 .message = "no such workload",
                 .field = "workload",
                 .given = to_text(wanted.workload),
                 .to_do = "run `moulin ps --all`"};
  }
  if (wanted.attempt && *wanted.attempt > workload->attempt_count) {
    return Error{.code = Code::kNotFound,
                 .message = "no such attempt",
                 .field = "attempt",
                 .given = std::to_string(*wanted.attempt),
                 .allowed = "1 to " + std::to_string(workload->attempt_count)};
  }
  if (!wanted.last_event_id) return LogFollower::Place{};
  return LogFollower::parse_place(*wanted.last_event_id);
}

}  // namespace

void read_workload_logs(Call call) {
  Result<wire::ReadWorkloadLogs> wanted = parameters<wire::ReadWorkloadLogs>(call);
  if (!wanted) return call.responder.answer(problem_response(wanted.error()));
  Result<LogFollower::Place> from = begin_at(call, *wanted);
  if (!from) return call.responder.answer(problem_response(from.error()));
  StreamForm form = wanted->format == wire::LogFormat::kEvents ? StreamForm::kEvents : StreamForm::kPlain;
  EventStream stream = call.responder.start_stream(form);
  std::make_shared<LogFollower>(call.world, std::move(*wanted), std::move(stream), std::move(*from))->start();
}

}  // namespace moulin::handle
