// run, apply.
#include <fmt/format.h>

#include "cli/commands/groups.h"
#include "cli/commands/run_follow.h"
#include "cli/render/server.h"
#include "cli/render/workloads.h"
#include "cli/status_line.h"
#include "cli/submission.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Start here";

// Names the field of an error as the person wrote it.
using FieldName = std::function<std::string(const std::string&)>;

template <class T>
Result<T> with_field(Result<T> result, const FieldName& name) {
  if (result) return result;
  Error error = std::move(result).error();
  error.field = name(error.field);
  return error;
}

Result<wire::DryRun> ask_dry_run(Session& session, const std::vector<Json>& documents, const FieldName& name) {
  wire::DryRun answer =
      TRY(with_field(session.ask(wire::DryRunWorkloads{}, wire::Submission{.workloads = documents}), name));
  for (wire::DryRunVerdict& verdict : answer.workloads) {
    if (verdict.problem && verdict.problem->field) verdict.problem->field = name(*verdict.problem->field);
  }
  return answer;
}

bool is_accepted(const wire::DryRun& answer) {
  auto accepted = [](const wire::DryRunVerdict& verdict) { return verdict.accepted; };
  return std::all_of(answer.workloads.begin(), answer.workloads.end(), accepted);
}

Result<int> show_dry_run(Session& session, const std::vector<Json>& documents, const FieldName& name) {
  wire::DryRun answer = TRY(ask_dry_run(session, documents, name));
  session.show(answer, render_dry_run);
  return is_accepted(answer) ? 0 : exit_status(Code::kRefused);
}

// With a key, so that a request whose answer was lost can be sent again.
Result<wire::Submitted> submit(Session& session, const std::vector<Json>& documents, const FieldName& name) {
  constexpr size_t kKeyBytes = 16;
  wire::SubmitWorkloads operation{.idempotency_key = session.surroundings().random_hex(kKeyBytes)};
  return with_field(session.ask(operation, wire::Submission{.workloads = documents}), name);
}

// {"id": ...} for one workload, {"ids": [...]} for several.
Json submitted_document(const wire::Submitted& submitted, bool is_many) {
  JsonArray ids;
  for (WorkloadId id : submitted.ids) ids.emplace_back(to_text(id));
  if (is_many) return Json::object({{"ids", std::move(ids)}});
  const wire::SubmittedWorkload& workload = submitted.workloads.front();
  return Json::object({{"id", ids.front()}, {"name", workload.name}, {"project", workload.project}});
}

// The document of the workload that --like names. Its name is kept only when it gives way.
Result<Json> like_document(Session& session, WorkloadId id) {
  wire::Workload workload = TRY(session.ask(wire::ShowWorkload{.workload = id}));
  Json document = workload.spec;
  bool replaces = session.call().has("replace");
  if (workload.origin.kind == OriginKind::kArray && workload.origin.name && workload.origin.index) {
    document.set("name", *workload.origin.name);
    document.set("array", fmt::format("{0}-{0}", *workload.origin.index));
  }
  if (!replaces) document.set("name", Json());
  return document;
}

// Stops the workload that is replaced, once it is sure that its successor is accepted,
// and waits until it has gone.
Status replace(Session& session, WorkloadId id, const std::vector<Json>& documents, const FieldName& name) {
  wire::DryRun answer = TRY(ask_dry_run(session, documents, name));
  wire::Workload old = TRY(session.ask(wire::ShowWorkload{.workload = id}));
  for (const wire::DryRunVerdict& verdict : answer.workloads) {
    // Its own name is taken by the one that it replaces.
    bool is_name = verdict.problem && verdict.problem->title == wire::ProblemCode::kConflict &&
                   verdict.name == old.name && verdict.project == old.project;
    if (verdict.accepted || is_name) continue;
    if (!verdict.problem) return Error{.code = Code::kRefused, .message = "would be refused"};
    const wire::Problem& problem = *verdict.problem;
    return Error{.code = Code::kRefused,
                 .message = problem.detail,
                 .field = problem.field.value_or(""),
                 .given = problem.given.value_or(""),
                 .allowed = problem.allowed.value_or(""),
                 .to_do = problem.to_do.value_or("")};
  }
  TRY(session.ask(wire::StopWorkload{.workload = id}));
  StatusLine line(session.console());
  line.show(fmt::format("moulin: waiting until {} has ended", to_text(id)));
  wire::ReadWorkloadLogs wanted{.workload = id, .follow = true, .tail = 0};
  LogListener silent{.on_line = [](const wire::LogLine&) {}, .on_state = [](const wire::LogState&) {}};
  TRY(follow_logs(session, wanted, {}, silent));
  return {};
}

Result<int> follow_submitted(Session& session, const wire::Submitted& submitted) {
  Console& console = session.console();
  const wire::SubmittedWorkload& workload = submitted.workloads.front();
  if (console.is_json()) {
    console.print_json(submitted_document(submitted, false));
  } else {
    console.note(fmt::format("moulin: {} {}", to_text(workload.id), workload.name));
  }
  return run_follow(session, workload);
}

Result<int> run(Session& session) {
  const Call& call = session.call();
  std::optional<WorkloadId> like;
  Json base;
  if (const std::string* text = call.value("like")) {
    like = TRY(find_workload(session, *text, ""));
    base = TRY(like_document(session, *like));
  } else if (call.has("replace")) {
    return Error{.code = Code::kInvalid,
                 .message = "--replace needs --like ID",
                 .to_do = "name the workload that gives way: moulin run --like ID --replace [options]"};
  } else if (call.command.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "the command is missing",
                 .to_do = "write it after `--`: moulin run [options] -- CMD..."};
  }
  std::vector<Json> documents{TRY(document_of_run(call, session.surroundings(), std::move(base)))};
  if (call.has("dry-run")) return show_dry_run(session, documents, field_of_run);
  if (call.has("replace")) TRY(replace(session, *like, documents, field_of_run));
  wire::Submitted submitted = TRY(submit(session, documents, field_of_run));
  bool is_many = documents.front().find("array") != nullptr;
  if (!call.has("detach") && !is_many) return follow_submitted(session, submitted);
  if (session.console().is_json()) {
    session.console().print_json(submitted_document(submitted, is_many));
  } else {
    session.console().print(render_submitted(submitted, session.console().view()));
  }
  return 0;
}

Result<int> apply(Session& session) {
  const std::string* path = session.call().value("file");
  if (path == nullptr) {
    return Error{
        .code = Code::kInvalid, .message = "no file is named", .to_do = "write -f FILE, or -f - for standard input"};
  }
  std::vector<Json> documents = TRY(documents_of_file(*path, session.surroundings()));
  FieldName name = [&](const std::string& field) { return field_of_file(field, documents.size()); };
  std::string project = session.surroundings().variable("MOULIN_PROJECT");
  if (const std::string* named = session.call().value("project")) project = *named;
  for (Json& document : documents) {
    bool names_one = !document.is_object() || document.find("project") != nullptr;
    if (!project.empty() && !names_one) document.set("project", project);
  }
  if (session.call().has("dry-run")) return show_dry_run(session, documents, name);
  wire::Submitted submitted = TRY(submit(session, documents, name));
  if (session.console().is_json()) {
    session.console().print_json(wire::write(submitted));
  } else {
    session.console().print(render_submitted(submitted, session.console().view()));
  }
  return 0;
}

using enum OptionSpec::Repeat;
constexpr OptionSpec kRunOptions[] = {
    {.name = "detach", .letter = 'd', .help = "print the id and return"},
    {.name = "gpu", .letter = 'g', .value = "AMOUNT", .help = "0.25 | 2 | 2x0.5 (a half of two each) | 20GiB"},
    {.name = "gpu-model", .value = "MODEL", .help = "in order of preference", .repeat = kMany},
    {.name = "cpu", .value = "CORES", .help = "4, 0.5 or 500m"},
    {.name = "memory", .letter = 'm', .value = "BYTES", .help = "16GiB"},
    {.name = "isolation", .value = "WISH", .help = "any, or required: refuses a share that nothing enforces"},
    {.name = "replicas", .value = "N", .help = "so many that start together; 2-8: at least 2, up to 8"},
    {.name = "array", .value = "FIRST-LAST", .help = "many of it: 0-99"},
    {.name = "name", .value = "NAME", .help = "unique among the project's unfinished workloads"},
    {.name = "project",
     .letter = 'p',
     .value = "PROJECT",
     .help = "whose quota (unless given: $MOULIN_PROJECT, default)"},
    {.name = "kind", .value = "KIND", .help = "job, notebook or service"},
    {.name = "class", .letter = 'c', .value = "CLASS", .help = "production, training, development or batch"},
    {.name = "priority", .value = "N", .help = "larger is first, inside class and project"},
    {.name = "env", .letter = 'e', .value = "KEY[=VALUE]", .help = "without VALUE: as it is here", .repeat = kMany},
    {.name = "tag", .value = "KEY=VALUE", .help = "for finding and for cost", .repeat = kMany},
    {.name = "pool", .value = "POOL", .help = "only there", .repeat = kMany},
    {.name = "folder", .value = "DIR", .help = "where it runs (unless given: here)"},
    {.name = "code", .value = "MODE", .help = "live (the folder itself) or snapshot (a copy)"},
    {.name = "checkpoint", .value = "PATH", .help = "it saves there and can go on"},
    {.name = "grace", .value = "DURATION", .help = "time to save when it must end"},
    {.name = "duration", .value = "DURATION", .help = "end it after so much running time"},
    {.name = "min-runtime", .value = "DURATION", .help = "before this, reclaim and priority leave it alone"},
    {.name = "like", .value = "ID", .help = "as that workload, but for what is given here"},
    {.name = "replace", .help = "with --like: stop that one first"},
    {.name = "dry-run", .help = "say what would happen, and submit nothing"},
};
constexpr OptionSpec kApplyOptions[] = {
    {.name = "file", .letter = 'f', .value = "FILE", .help = "workload file, YAML or JSON; - is standard input"},
    {.name = "project",
     .letter = 'p',
     .value = "PROJECT",
     .help = "for workloads that name none (unless given: $MOULIN_PROJECT)"},
    {.name = "dry-run", .help = "say what would happen, and submit nothing"},
};

constexpr std::string_view kRunDetails =
    "Without --detach it follows the logs and exits with the command's own exit status.\n"
    "Ctrl-C asks whether to detach or to stop it; a second one detaches. No shell sees\n"
    "the command.\n";

constexpr std::string_view kRunExamples =
    "moulin run --gpu 0.25 -- python3 train.py --epochs 3\n"
    "moulin run --detach --class batch --array 0-99 -- ./sweep.sh\n"
    "moulin run --replicas 4 --gpu 1 -- python3 gang.py\n"
    "moulin run --dry-run --gpu 8 -- python3 train.py\n"
    "moulin run --like digits --replace --gpu 0.5";

constexpr Verb kVerbs[] = {
    {.name = "run",
     .group = kGroup,
     .tail = Verb::Tail::kMayCommand,
     .summary = "run a command on the GPU that it needs",
     .options = kRunOptions,
     .details = kRunDetails,
     .examples = kRunExamples,
     .run = run},
    {.name = "apply",
     .group = kGroup,
     .summary = "submit the workloads of a file",
     .options = kApplyOptions,
     .details = "docs/workload_file.md describes the file. All of its workloads are accepted, or none.\n",
     .examples = "moulin apply -f digits.yaml\nmoulin apply -f digits.yaml --dry-run",
     .run = apply},
};

}  // namespace

std::span<const Verb> submit_verbs() { return kVerbs; }

}  // namespace moulin::cli
