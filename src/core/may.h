// Authorisation: one function, over bindings that are events.
#pragma once

#include "base/result.h"
#include "model/command.h"
#include "model/state.h"

namespace moulin {

// What somebody wants to do at a node of the tree.
enum class Verb {
  kSee,             // viewer: workloads, quota, nodes
  kSubmit,          // member: new workloads; also stop, pause, resume, exec of one's own
  kManageWorkload,  // admin: stop, pause, resume those of others
  kManageTree,      // admin of the node: quotas, projects and departments below it
  kManageSystem,    // admin of the organisation: nodes, users, tokens of others, roles, exec beside all
};

// A role at a node holds for everything below it. Moulin itself may everything. A token
// of a workload may see its own project and nothing else.
bool may(const State& state, const Actor& actor, Verb verb, const TreeName& at);

// What an actor is told who may see `at`, but not do that there: kForbidden.
Error forbidden(const Actor& actor, Verb verb, const TreeName& at);

// kForbidden, naming who, what, where and which role would do; or kNotFound when the
// actor may not even see `at`.
Status require(const State& state, const Actor& actor, Verb verb, const TreeName& at);

// The same for stopping, pausing and resuming this workload: one's own, or those of others
// with the right to manage them.
Status require_change(const State& state, const Actor& actor, const Workload& workload);

// The same for running commands beside it. They have its owner's account and secrets: beside
// those of others only who may everything may do this, since such a person could anyway.
Status require_exec(const State& state, const Actor& actor, const Workload& workload);

}  // namespace moulin
