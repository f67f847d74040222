#include "core/may.h"

namespace moulin {

namespace {

Role role_for(Verb verb) {
  switch (verb) {
    case Verb::kSee: return Role::kViewer;
    case Verb::kSubmit: return Role::kMember;
    case Verb::kManageWorkload:
    case Verb::kManageTree:
    case Verb::kManageSystem: return Role::kAdmin;
  }
  MOULIN_UNREACHABLE();
}

std::string_view verb_text(Verb verb) {
  switch (verb) {
    case Verb::kSee: return "see";
    case Verb::kSubmit: return "submit workloads to";
    case Verb::kManageWorkload: return "change the workloads of others in";
    case Verb::kManageTree: return "change quotas and projects of";
    case Verb::kManageSystem: return "manage nodes, users and roles of";
  }
  MOULIN_UNREACHABLE();
}

bool has_role(const State& state, const UserName& user, const TreeName& at, Role least) {
  for (Role role : {Role::kViewer, Role::kMember, Role::kAdmin}) {
    if (role >= least && state.bindings.contains({user, at, role})) return true;
  }
  return false;
}

bool workload_may(const State& state, WorkloadId id, Verb verb, const TreeName& at) {
  const Workload* workload = state.workload(id);
  return verb == Verb::kSee && workload != nullptr && workload->spec.project == at;
}

bool is_own(const Actor& actor, const Workload& workload) { return actor.user == workload.owner && !actor.workload; }

}  // namespace

bool may(const State& state, const Actor& actor, Verb verb, const TreeName& at) {
  if (actor.is_system()) return true;
  if (actor.workload) return workload_may(state, actor.workload, verb, at);
  const TreeName& from = verb == Verb::kManageSystem ? kRootTree : at;
  for (const TreeNode* node : path_to_root(state, from)) {
    if (has_role(state, actor.user, node->name, role_for(verb))) return true;
  }
  return false;
}

Error forbidden(const Actor& actor, Verb verb, const TreeName& at) {
  return {.code = Code::kForbidden,
          .message = actor.user.text + " may not " + std::string(verb_text(verb)) + " " + at.text,
          .allowed = "users with the role " + std::string(to_text(role_for(verb))) + " at " + at.text + " or above it",
          .to_do = "ask an administrator for the role"};
}

Status require(const State& state, const Actor& actor, Verb verb, const TreeName& at) {
  if (may(state, actor, verb, at)) return {};
  // Everybody knows that there is an organisation; of what else is there, only who may see it.
  bool hidden = at != kRootTree && !may(state, actor, Verb::kSee, at);
  if (verb != Verb::kSee && hidden) return require(state, actor, Verb::kSee, at);
  if (verb == Verb::kSee) {
    return Error{.code = Code::kNotFound,
                 .message = "no project or department of this name that you may see",
                 .given = at.text,
                 .to_do = "run `moulin project list` to see yours"};
  }
  return forbidden(actor, verb, at);
}

Status require_change(const State& state, const Actor& actor, const Workload& workload) {
  Verb verb = is_own(actor, workload) ? Verb::kSubmit : Verb::kManageWorkload;
  return require(state, actor, verb, workload.spec.project);
}

Status require_exec(const State& state, const Actor& actor, const Workload& workload) {
  const TreeName& project = workload.spec.project;
  if (is_own(actor, workload)) return require(state, actor, Verb::kSubmit, project);
  TRY(require(state, actor, Verb::kSee, project));
  if (may(state, actor, Verb::kManageSystem, kRootTree)) return {};
  return Error{.code = Code::kForbidden,
               .message = actor.user.text + " may not run commands beside the workloads of others",
               .allowed = workload.owner.text + ", and users with the role admin at " + kRootTree.text,
               .to_do = "ask its owner to run it: it has the owner's account and secrets"};
}

}  // namespace moulin
