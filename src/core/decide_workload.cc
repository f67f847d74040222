#include <fmt/format.h>

#include "core/decide_parts.h"
#include "core/may.h"

namespace moulin {

namespace {

Status check_project(const Case& c, const TreeName& project) {
  Status allowed = require(c.state(), c.actor(), Verb::kSubmit, project);
  if (!allowed) {
    Error error = allowed.error();
    error.field = "project";
    return error;
  }
  const TreeNode* node = c.state().tree_node(project);
  if (node != nullptr && node->kind == TreeKind::kProject) return {};
  return Error{.code = Code::kInvalid,
               .message = node == nullptr ? "no such project" : "only projects hold workloads",
               .field = "project",
               .given = project.text,
               .to_do = "run `moulin project list`"};
}

// Refusals name the file of the request that they are about.
Status at_place(const command::NewWorkload& item, Status checked) {
  if (checked) return checked;
  Error error = std::move(checked).error();
  error.field = fmt::format("workloads[{}]{}{}", item.place, error.field.empty() ? "" : ".", error.field);
  return error;
}

Error name_taken(const command::NewWorkload& item, std::string by) {
  return {.code = Code::kConflict,
          .message = std::move(by),
          .field = "name",
          .given = item.spec.name,
          .to_do = "choose another name, or stop that one first"};
}

// Looks at the workloads of one request, one after the other.
class Submission {
 public:
  explicit Submission(const Case& c) : c_(c) {}

  Status check(const command::NewWorkload& item) {
    MOULIN_CHECK(item.id && !c_.state().workloads.contains(item.id), "ids are new");
    if (!names_.insert({item.spec.project, item.spec.name}).second)
      return name_taken(item, "two workloads of one request have the same name");
    if (c_.state().names.contains({item.spec.project, item.spec.name}))
      return name_taken(item, "an unfinished workload of this name exists in project " + item.spec.project.text);
    // Elements of one array are alike: the first stands for all.
    bool measured = item.origin.kind == OriginKind::kArray && item.place == measured_;
    measured_ = item.place;
    return measured ? Status{} : check_admission(c_.view(), item.spec);
  }

 private:
  const Case& c_;
  std::set<WorkloadName> names_;
  std::optional<size_t> measured_;
};

Status check_count(const command::Submit& command) {
  if (command.workloads.empty() || command.workloads.size() > kSubmitMax) {
    return Error{.code = Code::kTooLarge,
                 .message = "too many workloads in one request, or none",
                 .field = "workloads",
                 .given = std::to_string(command.workloads.size()),
                 .allowed = "1 to " + std::to_string(kSubmitMax)};
  }
  return {};
}

// `there` are unfinished, `more` are asked for.
Status check_room(std::string where, int64_t there, int64_t more, int64_t limit) {
  if (there + more <= limit) return {};
  return Error{.code = Code::kTooMany,
               .message = "too many unfinished workloads in " + where,
               .field = "workloads",
               .given = fmt::format("{} beside {} that are unfinished", more, there),
               .allowed = fmt::format("{} in all", limit),
               .to_do = "wait until some have finished, or stop some (`moulin ps`, `moulin stop`)"};
}

Status check_unfinished(const Case& c, const command::Submit& command) {
  std::map<TreeName, int64_t> more;
  for (const command::NewWorkload& item : command.workloads) ++more[item.spec.project];
  for (const auto& [project, count] : more) {
    TRY(check_room("project " + project.text, c.index().unfinished(project), count, c.unfinished_limits().in_project));
  }
  return check_room("this installation", std::ssize(c.state().names), std::ssize(command.workloads),
                    c.unfinished_limits().in_all);
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

// "is running", "has failed".
std::string standing_of(const Workload& workload) {
  bool has = workload.state == WorkloadState::kSucceeded || workload.state == WorkloadState::kFailed;
  if (workload.state == WorkloadState::kStopping) return "is ending";
  return (has ? "has " : "is ") + std::string(to_text(workload.state));
}

Error wrong_state(const Workload& workload, std::string_view verb, std::string_view to_do) {
  return {.code = Code::kConflict,
          .message = fmt::format("{} {} and cannot be {}", workload.spec.name, standing_of(workload), verb),
          .field = "workload",
          .given = to_text(workload.id),
          .to_do = std::string(to_do)};
}

}  // namespace

Result<const Workload*> find_workload(const Case& c, WorkloadId id) {
  const Workload* workload = c.state().workload(id);
  if (workload != nullptr && may(c.state(), c.actor(), Verb::kSee, workload->spec.project)) return workload;
  return Error{.code = Code::kNotFound,
               .message = "no such workload",
               .field = "workload",
               .given = to_text(id),
               .to_do = "run `moulin ps --all`"};
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
  for (const command::NewWorkload& item : command.workloads) TRY(at_place(item, check_project(c, item.spec.project)));
  if (TRY(is_repeat(c, command))) return {};
  TRY(check_count(command));
  TRY(check_unfinished(c, command));
  Submission submission(c);
  for (const command::NewWorkload& item : command.workloads) TRY(at_place(item, submission.check(item)));

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
  TRY(require_change(c.state(), c.actor(), workload));
  if (is_finished(workload.state)) return {};
  if (is_live(workload.state))
    ask_end(c, workload, Intent::kStop, Cause::kNone);
  else
    c.happens(event::WorkloadStopped{.workload = workload.id, .by = c.actor().user});
  return {};
}

Status judge(Case& c, const command::Pause& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_change(c.state(), c.actor(), workload));
  if (workload.state == WorkloadState::kPaused) return {};
  if (is_finished(workload.state)) return wrong_state(workload, "paused", "submit it again if it should run again");
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
    return wrong_state(workload, "paused", "nothing: it ends for good; submit it again if it should run again");
  c.happens(event::PauseAsked{.workload = workload.id, .by = c.actor().user});
  return {};
}

Status judge(Case& c, const command::Resume& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_change(c.state(), c.actor(), workload));
  if (workload.state != WorkloadState::kPaused)
    return wrong_state(workload, "resumed", "only paused workloads are resumed");
  c.happens(event::WorkloadResumed{.workload = workload.id, .by = c.actor().user});
  return {};
}

Status judge(Case& c, const command::BeginExec& command) {
  const Workload& workload = *TRY(find_workload(c, command.workload));
  TRY(require_exec(c.state(), c.actor(), workload));
  const Attempt* attempt = workload.live();
  if (attempt == nullptr) {
    return Error{.code = Code::kConflict,
                 .message = fmt::format("{} {}: it does not run", workload.spec.name, standing_of(workload)),
                 .field = "workload",
                 .given = to_text(workload.id),
                 .to_do = "`moulin why` says why it waits, `moulin show` how it ended"};
  }
  auto index = static_cast<size_t>(command.replica.value);
  bool runs = index < attempt->replicas.size() && attempt->replicas[index].state == ReplicaState::kRunning;
  if (!runs) {
    return Error{.code = Code::kConflict,
                 .message = "this replica does not run",
                 .field = "replica",
                 .given = std::to_string(command.replica.value),
                 .allowed = fmt::format("a running one of {}, counted from 0", attempt->replicas.size()),
                 .to_do = "`moulin show` lists them"};
  }
  c.happens(event::ExecBegan{.key = {workload.id, attempt->number, command.replica}, .by = c.actor().user});
  return {};
}

Result<std::map<size_t, Error>> refusals(const Grounds& view, const Command& command) {
  Case c(view, command);
  const auto& submit = std::get<command::Submit>(command.body);
  TRY(check_count(submit));
  TRY(check_unfinished(c, submit));
  std::map<size_t, Error> found;
  Submission submission(c);
  for (const command::NewWorkload& item : submit.workloads) {
    if (found.contains(item.place)) continue;
    Status checked = check_project(c, item.spec.project);
    if (checked) checked = submission.check(item);
    if (!checked) found.emplace(item.place, at_place(item, std::move(checked)).error());
  }
  return found;
}

}  // namespace moulin
