// A command beside a replica: whether it may run there, and then its WebSocket. Who runs one
// where is in the journal before it begins.
#include "core/may.h"
#include "server/authenticate.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

Result<ExecPlace> check_request(const Call& call) {
  TRY(WebSocket::check(call.request));
  return call.world.execs.take_place(call.actor.user);
}

// Of one who may do this: whether they still may. Tokens are revoked, and roles taken back.
Status check_again(const World& world, const Request& request, WorkloadId id) {
  PublishedView view = world.reactor.view();
  Actor actor = TRY(authenticate(view->state, request, std::max(world.clock.now(), view->state.now)));
  const Workload* workload = view->state.workload(id);
  return workload == nullptr ? Status() : require_exec(view->state, actor, *workload);
}

// What the event is about, as long as it is there.
Result<ExecTarget> find_target(const Call& call, const event::ExecBegan& began) {
  const Workload* workload = call.state().workload(began.key.workload);
  const Attempt* attempt = workload == nullptr ? nullptr : workload->live();
  if (attempt == nullptr || attempt->number != began.key.attempt) {
    return Error{.code = Code::kConflict,
                 .message = "it has just ended",
                 .field = "workload",
                 .given = to_text(began.key.workload),
                 .to_do = "`moulin show` says how it ended"};
  }
  auto check = [&world = call.world, request = call.request, id = workload->id] {
    return check_again(world, request, id);
  };
  return ExecTarget{.engine = call.world.engine, .key = began.key, .token = attempt->token, .check = std::move(check)};
}

void begin(Call& call, ExecPlace place, const event::ExecBegan& began) {
  call.view = call.world.reactor.view();
  Result<ExecTarget> target = find_target(call, began);
  if (!target) return call.responder.answer(problem_response(target.error()));
  auto shared = std::make_shared<std::pair<Request, ExecTarget>>(std::move(call.request), std::move(*target));
  call.responder.take_over([&execs = call.world.execs, shared, place = std::move(place)](TakenOver connection) {
    execs.start(place, std::move(connection), std::move(shared->first), std::move(shared->second));
  });
}

}  // namespace

void exec_in_workload(Call call) {
  auto wanted = parameters<wire::ExecInWorkload>(call);
  Result<ExecPlace> place = wanted ? check_request(call) : wanted.error();
  if (!place) return call.responder.answer(problem_response(place.error()));
  Actor actor = call.actor;
  Reactor& reactor = call.world.reactor;
  auto shared = std::make_shared<Call>(std::move(call));
  reactor.submit(std::move(actor), command::BeginExec{wanted->workload, {wanted->replica}},
                 [shared, place = std::move(*place)](const Result<Events>& events) {
                   if (!events) return shared->responder.answer(problem_response(events.error()));
                   begin(*shared, place, std::get<event::ExecBegan>(events->front().body));
                 });
}

}  // namespace moulin::handle
