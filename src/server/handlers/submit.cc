// Submitting, and asking what a submission would come to.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "core/may.h"
#include "model/workload_file.h"
#include "server/handlers/code_folder.h"
#include "server/handlers/handlers.h"
#include "server/handlers/workload_wire.h"

namespace moulin::handle {

namespace {

// One workload file of a submission, read.
struct ReadFile {
  std::vector<WorkloadElement> elements;  // one, or those of its array
};

std::string made_up_name(const Json& document, uint64_t id) {
  const Json* kind = document.find("kind");
  std::string prefix = kind != nullptr && kind->is_string() ? kind->string() : "job";
  return check_name("workload", prefix) ? prefix + "-" + id_text("", id).substr(7) : id_text("job-", id).substr(0, 12);
}

Error at_file(Error error, size_t index, size_t count) {
  if (count > 1 || !error.field.starts_with("workloads")) {
    error.field = fmt::format("workloads[{}]{}{}", index, error.field.empty() ? "" : ".", error.field);
  }
  return error;
}

uint64_t next_id(const Call& call) {
  return call.world.ids.next(call.world.clock.wall_offset() + Duration{call.world.clock.now().us});
}

// Where a workload without a folder runs: the home of its account, or of the server's.
std::string home_folder(const Call& call) {
  const Cow<User>* user = call.state().users.find(call.actor.user);
  std::string account = user == nullptr ? "" : (*user)->account;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(1 << 16);
  if (account.empty())
    ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  else
    ::getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found);
  std::string home = found == nullptr ? "" : entry.pw_dir;
  std::error_code error;
  return home.starts_with('/') && std::filesystem::is_directory(home, error) ? home : "/";
}

Result<std::vector<ReadFile>> read_files(const Call& call, const wire::Submission& submission) {
  std::vector<ReadFile> files;
  size_t count = 0;
  for (size_t i = 0; i < submission.workloads.size(); ++i) {
    WorkloadDefaults defaults{.name = made_up_name(submission.workloads[i], next_id(call))};
    auto elements = read_workloads(submission.workloads[i], defaults);
    if (!elements) return at_file(std::move(elements.error()), i, submission.workloads.size());
    for (WorkloadElement& element : *elements) {
      if (element.spec.folder.empty()) element.spec.folder = home_folder(call);
    }
    count += elements->size();
    if (count > kSubmitMax) {
      return Error{.code = Code::kTooLarge,
                   .message = "too many workloads in one request",
                   .field = "workloads",
                   .given = std::to_string(count),
                   .allowed = "at most " + std::to_string(kSubmitMax)};
    }
    files.push_back({std::move(*elements)});
  }
  return files;
}

Response submitted(const State& state, const std::vector<WorkloadId>& ids) {
  constexpr size_t kNamed = 1000;
  wire::Submitted out{.ids = ids};
  for (WorkloadId id : ids) {
    if (out.workloads.size() == kNamed) break;
    if (const Workload* workload = state.workload(id)) {
      out.workloads.push_back({.id = id, .name = workload->spec.name, .project = workload->spec.project.text});
    }
  }
  return ok(out, 201);
}

// The ids that the request made, now or when it came the first time.
std::vector<WorkloadId> made_by(const Call& call, const Events& events, const std::string& key) {
  std::vector<WorkloadId> ids;
  for (const Event& event : events) {
    if (const auto* made = std::get_if<event::WorkloadSubmitted>(&event.body)) ids.push_back(made->workload);
  }
  if (!ids.empty() || key.empty()) return ids;
  const Cow<RememberedRequest>* request = call.state().requests.find({call.actor.user, key});
  return request == nullptr ? ids : (*request)->made;
}

// A server that is root runs nothing as root for want of somebody else.
Status has_account(const Call& call) {
  if (!call.world.facts.isolates_users) return {};
  const Cow<User>* user = call.state().users.find(call.actor.user);
  if (user == nullptr || !(*user)->account.empty()) return {};
  return Error{.code = Code::kForbidden,
               .message = call.actor.user.text + " has no Unix account here, so nothing can run for them",
               .allowed = "users with an account",
               .to_do = "ask an administrator to make the user again with an account"};
}

Result<command::Submit> read_submission(const Call& call) {
  TRY(has_account(call));
  auto wanted = TRY(parameters<wire::SubmitWorkloads>(call));
  auto submission = TRY(wire::read_body<wire::Submission>(call.request));
  command::Submit submit{
      .workloads = {}, .key = wanted.idempotency_key.value_or(""), .digest = hash_of(call.request.body)};
  for (ReadFile& file : TRY(read_files(call, submission))) {
    for (WorkloadElement& element : file.elements) {
      submit.workloads.push_back(
          {.id = {next_id(call)}, .spec = std::move(element.spec), .origin = std::move(element.origin)});
    }
  }
  return submit;
}

void give_submit(Call call, command::Submit submit) {
  std::string key = submit.key;
  give_command(std::move(call), std::move(submit), [key](const Call& answered, const Events& events) {
    return submitted(answered.state(), made_by(answered, events, key));
  });
}

wire::Problem problem_of(const Error& error) {
  auto read = wire::read<wire::Problem>(problem_document(error));
  MOULIN_CHECK(read.has_value(), "our own document");
  return *read;
}

// Everything that decide() would refuse a submission for, asked one by one.
Status would_be_refused(const Call& call, const WorkloadSpec& spec) {
  TRY(has_account(call));
  command::Submit submit{.workloads = {{.id = {UINT64_MAX}, .spec = spec, .origin = {}}}, .key = "", .digest = ""};
  Agenda agenda;
  Judgement judgement{call.view->state, call.view->index, agenda};
  Result<Events> decided = decide(judgement, {.actor = call.actor, .at = call.now(), .body = std::move(submit)});
  return decided ? Status{} : Status(decided.error());
}

wire::DryRunVerdict verdict_of(const Call& call, const ReadFile& file) {
  const WorkloadSpec& spec = file.elements.front().spec;
  wire::DryRunVerdict verdict{.name = spec.name,
                              .project = spec.project.text,
                              .count = std::ssize(file.elements),
                              .spec = write_workload(spec)};
  Status refused = would_be_refused(call, spec);
  verdict.accepted = refused.has_value();
  if (!refused) verdict.problem = problem_of(refused.error());
  bool may_look = refused.has_value() || refused.error().code == Code::kRefused;
  if (!may_look) return verdict;
  Explanation explanation = explain_new(call.view->view(call.now()), spec, call.actor.user);
  verdict.starts_now = verdict.accepted && explanation.reasons.empty();
  verdict.explanation = explanation_of(call.state(), WorkloadState::kWaiting, explanation, call.now());
  return verdict;
}

Result<Response> dry_run(const Call& call) {
  TRY(parameters<wire::DryRunWorkloads>(call));
  auto submission = TRY(wire::read_body<wire::Submission>(call.request));
  wire::DryRun out;
  for (const ReadFile& file : TRY(read_files(call, submission))) out.workloads.push_back(verdict_of(call, file));
  return ok(out);
}

}  // namespace

void submit_workloads(Call call) {
  Result<command::Submit> submit = read_submission(call);
  if (!submit) return call.responder.answer(problem_response(submit.error()));
  if (!wants_snapshot(*submit)) return give_submit(std::move(call), std::move(*submit));
  in_background(std::move(call), [submit = std::move(*submit)](Call asked) mutable {
    Status taken = take_snapshots(asked, submit);
    if (!taken) return asked.responder.answer(problem_response(taken.error()));
    give_submit(std::move(asked), std::move(submit));
  });
}

void dry_run_workloads(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, dry_run(asked)); });
}

}  // namespace moulin::handle
