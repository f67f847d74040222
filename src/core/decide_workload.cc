#include "core/decide_parts.h"
#include "core/may.h"

namespace moulin {

namespace {

Status check_project(const Case& c, const TreeName& project) {
  TRY(require(c.state(), c.actor(), Verb::kSubmit, project));
  const TreeNode* node = c.state().tree_node(project);
  if (node != nullptr && node->kind == TreeKind::kProject) return {};
  return Error{.code = Code::kInvalid,
               .message = node == nullptr ? "no such project" : "only projects hold workloads",
               .field = "project",
               .given = project.text,
               .to_do = "run `moulin project list`"};
}

// The element that asks for the most stands for all: elements of one array are alike.
Status check_new(const Case& c, const command::NewWorkload& item, bool first) {
  MOULIN_CHECK(item.id && !c.state().workloads.contains(item.id), "ids are new");
  if (c.state().names.contains({item.spec.project, item.spec.name})) {
    return Error{.code = Code::kConflict,
                 .message = "an unfinished workload of this name exists in project " + item.spec.project.text,
                 .field = "name",
                 .given = item.spec.name,
                 .to_do = "choose another name, or stop that one first"};
  }
  if (first || item.origin.kind != OriginKind::kArray) TRY(check_admission(c.view(), item.spec));
  return {};
}

Status check_names_differ(const command::Submit& command) {
  std::set<WorkloadName> names;
  for (const command::NewWorkload& item : command.workloads) {
    if (names.insert({item.spec.project, item.spec.name}).second) continue;
    return Error{.code = Code::kConflict,
                 .message = "two workloads of one request have the same name",
                 .field = "name",
                 .given = item.spec.name,
                 .to_do = "give each a name of its own"};
  }
  return {};
}

// True when this very request was answered before.
Result<bool> is_repeat(const Case& c, const command::Submit& command) {
  if (command.key.empty()) return false;
  if (command.key.size() > kRequestKeyBytesMax) {
    return Error{.code = Code::kInvalid,
                 .message = "too long",
                 .field = "Idempotency-Key",
                 .given = std::to_string(command.key.size()) + " bytes",
                 .allowed = "at most " + std::to_string(kRequestKeyBytesMax) + " bytes"};
  }
  const Cow<RememberedRequest>* request = c.state().requests.find({c.actor().user, command.key});
  if (request == nullptr) return false;
  if ((*request)->digest == command.digest) return true;
  return Error{.code = Code::kConflict,
               .message = "this idempotency key was used for another request",
               .field = "Idempotency-Key",
               .given = command.key,
               .to_do = "use a new key for each request"};
}

Status require_change(const Case& c, const Workload& workload) {
  if (c.actor().user == workload.owner && !c.actor().workload)
    return require(c.state(), c.actor(), Verb::kSubmit, workload.spec.project);
  return require(c.state(), c.actor(), Verb::kManageWorkload, workload.spec.project);
}

Error wrong_state(const Workload& workload, std::string_view verb, std::string_view to_do) {
  return {.code = Code::kConflict,
          .message = "cannot " + std::string(verb) + " " + workload.spec.name + ": it is " +
                     std::string(to_text(workload.state)),
          .given = to_text(workload.id),
          .to_do = std::string(to_do)};
}

}  // namespace

Result<const Workload*> find_workload(const Case& c, WorkloadId id) {
  const Workload* workload = c.state().workload(id);
  if (workload != nullptr && may(c.state(), c.actor(), Verb::kSee, workload->spec.project)) return workload;
  return Error{
      .code = Code::kNotFound, .message = "no such workload", .given = to_text(id), .to_do = "run `moulin ps --all`"};
}

void ask_end(Case& c, const Workload& workload, Intent intent, Cause cause, WorkloadId beneficiary) {
  const Attempt* attempt = workload.live();
  MOULIN_CHECK(attempt != nullptr, "nothing to end");
  if (intent <= attempt->intent) return;
  bool paused_before = attempt->intent == Intent::kPause || workload.pause_wanted;
  c.happens(event::EndAsked{.workload = workload.id,
                            .attempt = attempt->number,
                            .intent = intent,
                            .cause = cause,
                            .beneficiary = beneficiary,
                            .by = c.actor().user,
                            .grace = workload.spec.grace,
                            .leaves_by = c.at() + workload.spec.grace,
                            .then_pause = paused_before && intent < Intent::kStop});
}

Status judge(Case& c, const command::Submit& command) {
  if (command.workloads.empty() || command.workloads.size() > kSubmitMax) {
    return Error{.code = Code::kTooLarge,
                 .message = "too many workloads in one request, or none",
                 .field = "workloads",
                 .given = std::to_string(command.workloads.size()),
                 .allowed = "1 to " + std::to_string(kSubmitMax)};
  }
  for (const command::NewWorkload& item : command.workloads) TRY(check_project(c, item.spec.project));
  if (TRY(is_repeat(c, command))) return {};
  if (c.state().names.size() + command.workloads.size() > kWorkloadsMax) {
    return Error{.code = Code::kTooMany,
                 .message = "too many unfinished workloads",
                 .given = std::to_string(c.state().names.size()),
                 .allowed = std::to_string(kWorkloadsMax),
                 .to_do = "wait until some have finished"};
  }
  TRY(check_names_differ(command));
  for (const command::NewWorkload& item : command.workloads)
    TRY(check_new(c, item, &item == &command.workloads.front()));

  std::vector<WorkloadId> made;
  for (const command::NewWorkload& item : command.workloads) {
    made.push_back(item.id);
    c.happens(event::WorkloadSubmitted{
        .workload = item.id, .spec = item.spec, .owner = c.actor().user, .origin = item.origin});
  }
  if (!command.key.empty()) c.happens(event::RequestRemembered{c.actor().user, command.key, command.digest, made});
  return {};
}

Status judge(Case& c, const command::Stop& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_change(c, workload));
  if (workload.state == WorkloadState::kStopped) return {};
  if (is_finished(workload.state)) return wrong_state(workload, "stop", "nothing: it has ended");
  if (is_live(workload.state))
    ask_end(c, workload, Intent::kStop, Cause::kNone);
  else
    c.happens(event::WorkloadStopped{.workload = workload.id, .by = c.actor().user});
  return {};
}

Status judge(Case& c, const command::Pause& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_change(c, workload));
  if (workload.state == WorkloadState::kPaused) return {};
  if (is_finished(workload.state)) return wrong_state(workload, "pause", "submit it again if it should run again");
  if (workload.state == WorkloadState::kWaiting) {
    c.happens(event::WorkloadPaused{.workload = workload.id, .by = c.actor().user});
    return {};
  }
  const Attempt& attempt = *workload.live();
  if (attempt.intent == Intent::kPause || workload.pause_wanted) return {};
  if (attempt.intent == Intent::kNone) {
    ask_end(c, workload, Intent::kPause, Cause::kNone);
    return {};
  }
  // Nothing comes after a stop, or after the end of the time it may run.
  bool for_good = attempt.intent == Intent::kStop || attempt.cause == Cause::kLimit;
  if (for_good)
    return wrong_state(workload, "pause", "nothing: it ends for good; submit it again if it should run again");
  c.happens(event::PauseAsked{.workload = workload.id, .by = c.actor().user});
  return {};
}

Status judge(Case& c, const command::Resume& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_change(c, workload));
  if (workload.state != WorkloadState::kPaused)
    return wrong_state(workload, "resume", "only paused workloads are resumed");
  c.happens(event::WorkloadResumed{.workload = workload.id, .by = c.actor().user});
  return {};
}

}  // namespace moulin
