// Submitting, and asking what a submission would come to.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "core/may.h"
#include "model/workload_array.h"
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

// Long enough that a million of them differ.
std::string made_up_name(const Json& document, uint64_t id) {
  constexpr size_t kLeftOut = 3;  // letters that stay the same for decades
  const Json* kind = document.find("kind");
  std::string prefix = kind != nullptr && kind->is_string() ? kind->string() : "job";
  return (check_name("workload", prefix) ? prefix : "job") + "-" + id_text("", id).substr(kLeftOut);
}

Error at_file(Error error, size_t index, size_t count) {
  if (count > 1 || !error.field.starts_with("workloads")) {
    error.field = fmt::format("workloads[{}]{}{}", index, error.field.empty() ? "" : ".", error.field);
  }
  return error;
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

// What all workloads of a submission come to, so that few bytes do not become many.
struct Extent {
  size_t count = 0;
  size_t bytes = 0;

  Status add(const ReadFile& file) {
    count += file.elements.size();
    bytes += file.elements.size() * element_bytes(file.elements.front().spec);
    if (count <= kSubmitMax && bytes <= kArrayBytesMax) return {};
    bool many = count > kSubmitMax;
    return Error{
        .code = Code::kTooLarge,
        .message = many ? "too many workloads in one request" : "the workloads repeat too much command and env",
        .field = "workloads",
        .given = many ? std::to_string(count) : std::to_string(bytes) + " bytes in all workloads",
        .allowed = many ? fmt::format("at most {}", kSubmitMax) : fmt::format("at most {} bytes", kArrayBytesMax),
        .to_do = "make several requests"};
  }
};

struct ReadFiles {
  std::vector<ReadFile> files;
  Extent extent;
};

Result<ReadFiles> read_files(const Call& call, const wire::Submission& submission) {
  ReadFiles read;
  for (size_t i = 0; i < submission.workloads.size(); ++i) {
    WorkloadDefaults defaults{.name = made_up_name(submission.workloads[i], call.world.next_id())};
    auto elements = read_workloads(submission.workloads[i], defaults);
    if (!elements) return at_file(std::move(elements.error()), i, submission.workloads.size());
    for (WorkloadElement& element : *elements) {
      if (element.spec.folder.empty()) element.spec.folder = home_folder(call);
    }
    read.files.push_back({std::move(*elements)});
    TRY(read.extent.add(read.files.back()));
  }
  return read;
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
               .to_do = "ask an administrator for `moulin user set " + call.actor.user.text + " --account ACCOUNT`"};
}

// Elements in the order of the files.
std::vector<command::NewWorkload> workloads_of(const Call& call, std::vector<ReadFile> files) {
  std::vector<command::NewWorkload> workloads;
  for (size_t place = 0; place < files.size(); ++place) {
    for (WorkloadElement& element : files[place].elements) {
      workloads.push_back({.id = {call.world.next_id()},
                           .spec = std::move(element.spec),
                           .origin = std::move(element.origin),
                           .place = place});
    }
  }
  return workloads;
}

struct ReadSubmission {
  command::Submit command;
  ByteBudget::Lease memory;  // until it is answered
};

Result<ReadSubmission> read_submission(const Call& call) {
  TRY(has_account(call));
  auto wanted = TRY(parameters<wire::SubmitWorkloads>(call));
  auto submission = TRY(wire::read_body<wire::Submission>(call.request));
  ReadFiles read = TRY(read_files(call, submission));
  ByteBudget::Lease memory = TRY(call.world.submissions.take({static_cast<int64_t>(read.extent.bytes)}));
  return ReadSubmission{.command = {.workloads = workloads_of(call, std::move(read.files)),
                                    .key = wanted.idempotency_key.value_or(""),
                                    .digest = hash_of(call.request.body)},
                        .memory = std::move(memory)};
}

void give_submit(Call call, ReadSubmission submission) {
  std::string key = submission.command.key;
  give_command(std::move(call), std::move(submission.command),
               [key, memory = std::move(submission.memory)](const Call& answered, const Events& events) {
                 return submitted(answered.state(), made_by(answered, events, key));
               });
}

wire::Problem problem_of(const Error& error) {
  auto read = wire::read<wire::Problem>(problem_document(error));
  MOULIN_CHECK(read.has_value(), "our own document");
  return *read;
}

// What each file would be refused for: everything that decide() looks at.
Result<std::map<size_t, Error>> would_be_refused(const Call& call, const std::vector<ReadFile>& files) {
  command::Submit submit{.workloads = workloads_of(call, files)};
  Agenda agenda;
  Grounds grounds{call.view->state, call.view->index, agenda};
  return refusals(grounds, {.actor = call.actor, .at = call.now(), .body = std::move(submit)});
}

wire::DryRunVerdict verdict_of(const Call& call, const ReadFile& file, const Error* refusal) {
  const WorkloadSpec& spec = file.elements.front().spec;
  wire::DryRunVerdict verdict{.name = spec.name,
                              .project = spec.project.text,
                              .count = std::ssize(file.elements),
                              .accepted = refusal == nullptr,
                              .spec = write_workload(spec)};
  if (refusal != nullptr) verdict.problem = problem_of(*refusal);
  bool may_look = refusal == nullptr || refusal->code == Code::kRefused;
  if (!may_look) return verdict;
  Explanation explanation = explain_new(call.view->view(call.now()), spec, call.actor.user);
  verdict.starts_now = verdict.accepted && explanation.reasons.empty();
  verdict.explanation = explanation_of(call.state(), WorkloadState::kWaiting, explanation, call.now());
  return verdict;
}

Result<Response> dry_run(const Call& call) {
  TRY(parameters<wire::DryRunWorkloads>(call));
  auto submission = TRY(wire::read_body<wire::Submission>(call.request));
  auto [files, extent] = TRY(read_files(call, submission));
  ByteBudget::Lease memory = TRY(call.world.submissions.take({static_cast<int64_t>(extent.bytes)}));
  std::map<size_t, Error> refused = TRY(would_be_refused(call, files));
  if (Status account = has_account(call); !account) {
    for (size_t place = 0; place < files.size(); ++place) refused.try_emplace(place, account.error());
  }
  wire::DryRun out;
  for (size_t place = 0; place < files.size(); ++place) {
    auto refusal = refused.find(place);
    out.workloads.push_back(verdict_of(call, files[place], refusal == refused.end() ? nullptr : &refusal->second));
  }
  return ok(out);
}

// Reading many workloads takes longer than the I/O thread may.
bool is_long(const Request& request) {
  constexpr size_t kQuickBytes = 16 << 10;
  return request.body.size() > kQuickBytes || request.body.contains("\"array\"");
}

void submit(Call call) {
  Result<ReadSubmission> read = read_submission(call);
  if (!read) return call.responder.answer(problem_response(read.error()));
  if (!wants_snapshot(read->command)) return give_submit(std::move(call), std::move(*read));
  in_background(std::move(call), [read = std::move(*read)](Call asked) mutable {
    Status taken = take_snapshots(asked, read.command);
    if (!taken) return asked.responder.answer(problem_response(taken.error()));
    give_submit(std::move(asked), std::move(read));
  });
}

}  // namespace

void submit_workloads(Call call) {
  if (is_long(call.request)) return in_background(std::move(call), submit);
  submit(std::move(call));
}

void dry_run_workloads(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, dry_run(asked)); });
}

}  // namespace moulin::handle
