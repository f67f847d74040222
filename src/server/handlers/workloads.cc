// Looking at workloads, and asking them to stop, pause or resume.
#include <algorithm>

#include "core/may.h"
#include "server/handlers/handlers.h"
#include "server/handlers/workload_wire.h"

namespace moulin::handle {

namespace {

Result<const Workload*> find(const Call& call, WorkloadId id) {
  const Workload* workload = call.state().workload(id);
  if (workload != nullptr && may(call.state(), call.actor, Verb::kSee, workload->spec.project)) return workload;
  return Error{.code = Code::kNotFound,
               .message = "no such workload",
               .field = "workload",
               .given = to_text(id),
               .to_do = "run `moulin ps --all`"};
}

bool has_tag(const Workload& workload, const std::string& wanted) {
  size_t equals = wanted.find('=');
  auto found = workload.spec.tags.find(wanted.substr(0, equals));
  if (found == workload.spec.tags.end()) return false;
  return equals == std::string::npos || found->second == wanted.substr(equals + 1);
}

// Projects whose workloads are shown, looked up once each.
class Shown {
 public:
  Shown(const Call& call, const std::optional<std::string>& at) : call_(call), at_(at) {}
  bool operator()(const TreeName& project) {
    auto [found, is_new] = known_.try_emplace(project, false);
    if (is_new) {
      bool inside = !at_ || is_at_or_below(call_.state(), project, *at_);
      found->second = inside && may(call_.state(), call_.actor, Verb::kSee, project);
    }
    return found->second;
  }

 private:
  const Call& call_;
  const std::optional<std::string>& at_;
  std::map<TreeName, bool> known_;
};

bool matches(const State& state, const Workload& workload, const wire::ListWorkloads& wanted) {
  if (!wanted.state.empty() && std::ranges::find(wanted.state, workload.state) == wanted.state.end()) return false;
  if (wanted.kind && workload.spec.kind != *wanted.kind) return false;
  if (wanted.class_ && workload.spec.priority_class != *wanted.class_) return false;
  if (wanted.owner && workload.owner.text != *wanted.owner) return false;
  if (wanted.name && workload.spec.name != *wanted.name) return false;
  if (wanted.since && wall_time(workload.submitted, state.wall_offset) < *wanted.since) return false;
  return std::ranges::all_of(wanted.tag, [&](const std::string& tag) { return has_tag(workload, tag); });
}

// Newest first: ids grow with time. The cursor is the id of the last one shown. Without
// filters a page costs what is on it.
Result<Response> list(const Call& call) {
  auto wanted = TRY(parameters<wire::ListWorkloads>(call));
  std::string cursor = TRY(read_cursor(wanted.cursor));
  const auto& workloads = call.state().workloads;
  auto at =
      cursor.empty() ? workloads.end() : workloads.lower_bound(WorkloadId{TRY(parse_id(WorkloadTag::kPrefix, cursor))});
  auto limit = static_cast<size_t>(wanted.limit);
  Shown shown(call, wanted.project);
  wire::WorkloadPage page;
  while (at != workloads.begin()) {
    const Workload& workload = *(--at)->second;
    if (!matches(call.state(), workload, wanted) || !shown(workload.spec.project)) continue;
    if (page.items.size() == limit) {
      page.next = make_cursor(to_text(page.items.back().id));
      break;
    }
    page.items.push_back(summary_of(call.state(), workload, call.now()));
  }
  return ok(page);
}

Result<Response> show(const Call& call) {
  auto wanted = TRY(parameters<wire::ShowWorkload>(call));
  const Workload* workload = TRY(find(call, wanted.workload));
  Explanation explanation = explain(call.view->view(call.now()), workload->id);
  return ok(detail_of(call.state(), *workload, explanation, call.now()));
}

Result<Response> why(const Call& call) {
  auto wanted = TRY(parameters<wire::ExplainWorkload>(call));
  const Workload* workload = TRY(find(call, wanted.workload));
  Explanation explanation = explain(call.view->view(call.now()), workload->id);
  return ok(explanation_of(call.state(), workload->state, explanation, call.now()));
}

// The summary as it is once the command is durable. It may have been forgotten since.
template <class Operation>
void change(Call call, CommandBody (*make)(WorkloadId)) {
  Result<Operation> wanted = parameters<Operation>(call);
  if (!wanted) return call.responder.answer(problem_response(wanted.error()));
  WorkloadId id = wanted->workload;
  give_command(std::move(call), make(id), [id](const Call& answered, const Events& events) {
    Result<const Workload*> workload = find(answered, id);
    if (!workload) return problem_response(workload.error());
    bool had_ended = events.empty() && is_finished((*workload)->state);
    return ok(summary_of(answered.state(), **workload, answered.now()), had_ended ? 200 : 202);
  });
}

}  // namespace

void list_workloads(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, list(asked)); });
}

void show_workload(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, show(asked)); });
}

void explain_workload(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, why(asked)); });
}

void stop_workload(Call call) {
  change<wire::StopWorkload>(std::move(call), [](WorkloadId id) -> CommandBody { return command::Stop{id}; });
}

void pause_workload(Call call) {
  change<wire::PauseWorkload>(std::move(call), [](WorkloadId id) -> CommandBody { return command::Pause{id}; });
}

void resume_workload(Call call) {
  change<wire::ResumeWorkload>(std::move(call), [](WorkloadId id) -> CommandBody { return command::Resume{id}; });
}

}  // namespace moulin::handle
