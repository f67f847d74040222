#include "server/handlers/dispatch.h"

#include <algorithm>

#include "server/authenticate.h"
#include "server/handlers/handlers.h"

namespace moulin {

namespace {

using wire::Operation;

bool is_open(Operation operation) {
  return operation == Operation::kCheckHealth || operation == Operation::kCheckReadiness;
}

size_t row_of(Operation operation) {
  auto routes = wire::routes();
  return static_cast<size_t>(std::ranges::find(routes, operation, &wire::Route<Operation>::operation) - routes.begin());
}

void call_handler(Operation operation, Call call) {
  switch (operation) {
    case Operation::kListWorkloads: return handle::list_workloads(std::move(call));
    case Operation::kSubmitWorkloads: return handle::submit_workloads(std::move(call));
    case Operation::kDryRunWorkloads: return handle::dry_run_workloads(std::move(call));
    case Operation::kShowWorkload: return handle::show_workload(std::move(call));
    case Operation::kExplainWorkload: return handle::explain_workload(std::move(call));
    case Operation::kStopWorkload: return handle::stop_workload(std::move(call));
    case Operation::kPauseWorkload: return handle::pause_workload(std::move(call));
    case Operation::kResumeWorkload: return handle::resume_workload(std::move(call));
    case Operation::kListWorkloadEvents: return handle::list_workload_events(std::move(call));
    case Operation::kExecInWorkload: return handle::exec_in_workload(std::move(call));
    case Operation::kReadWorkloadLogs: return handle::read_workload_logs(std::move(call));
    case Operation::kListProjects: return handle::list_tree(std::move(call), TreeKind::kProject);
    case Operation::kCreateProject: return handle::create_tree_node(std::move(call), TreeKind::kProject);
    case Operation::kShowProject: return handle::show_tree_node(std::move(call), TreeKind::kProject);
    case Operation::kRemoveProject: return handle::remove_tree_node(std::move(call), TreeKind::kProject);
    case Operation::kChangeProjectQuota: return handle::change_quota(std::move(call), TreeKind::kProject);
    case Operation::kListDepartments: return handle::list_tree(std::move(call), TreeKind::kDepartment);
    case Operation::kCreateDepartment: return handle::create_tree_node(std::move(call), TreeKind::kDepartment);
    case Operation::kShowDepartment: return handle::show_tree_node(std::move(call), TreeKind::kDepartment);
    case Operation::kRemoveDepartment: return handle::remove_tree_node(std::move(call), TreeKind::kDepartment);
    case Operation::kChangeDepartmentQuota: return handle::change_quota(std::move(call), TreeKind::kDepartment);
    case Operation::kListQuota: return handle::list_quota(std::move(call));
    case Operation::kListQueue: return handle::list_queue(std::move(call));
    case Operation::kListUsers: return handle::list_users(std::move(call));
    case Operation::kCreateUser: return handle::create_user(std::move(call));
    case Operation::kChangeUser: return handle::change_user(std::move(call));
    case Operation::kRemoveUser: return handle::remove_user(std::move(call));
    case Operation::kListTokens: return handle::list_tokens(std::move(call));
    case Operation::kIssueToken: return handle::issue_token(std::move(call));
    case Operation::kRevokeToken: return handle::revoke_token(std::move(call));
    case Operation::kListBindings: return handle::list_bindings(std::move(call));
    case Operation::kGrantRole: return handle::grant_role(std::move(call));
    case Operation::kRevokeRole: return handle::revoke_role(std::move(call));
    case Operation::kWhoAmI: return handle::who_am_i(std::move(call));
    case Operation::kListNodes: return handle::list_nodes(std::move(call));
    case Operation::kShowNode: return handle::show_node(std::move(call));
    case Operation::kCordonNode: return handle::change_node_mode(std::move(call), NodeMode::kCordoned);
    case Operation::kDrainNode: return handle::change_node_mode(std::move(call), NodeMode::kDraining);
    case Operation::kUncordonNode: return handle::change_node_mode(std::move(call), NodeMode::kOpen);
    case Operation::kForgetGpuFaults: return handle::forget_gpu_faults(std::move(call));
    case Operation::kListGpus: return handle::list_gpus(std::move(call));
    case Operation::kStreamEvents: return handle::stream_events(std::move(call));
    case Operation::kShowServer: return handle::show_server(std::move(call));
    case Operation::kStopServer: return handle::stop_server(std::move(call));
    case Operation::kCheckHealth: return call.responder.answer(ok(wire::Health{.status = "ok"}));
    case Operation::kCheckReadiness: return handle::check_readiness(std::move(call));
    case Operation::kReadMetrics: return handle::read_metrics(std::move(call));
  }
}

}  // namespace

void dispatch(World& world, Request request, Responder responder) {
  auto match = wire::match_route(wire::routes(), request);
  responder =
      counted(world.http_metrics, match ? std::optional(row_of(match->operation)) : std::nullopt, std::move(responder));
  if (!match) return responder.answer(std::move(match.error()));
  Call call{.world = world,
            .request = std::move(request),
            .values = std::move(match->values),
            .actor = {},
            .view = world.reactor.view(),
            .responder = std::move(responder)};
  if (!is_open(match->operation)) {
    Result<Actor> actor = authenticate(call.state(), call.request, call.now());
    if (!actor) return call.responder.answer(problem_response(actor.error()));
    call.actor = std::move(*actor);
  }
  call_handler(match->operation, std::move(call));
}

}  // namespace moulin
