// ps, show, why, stop, pause, resume, queue.
#include "cli/render/workloads.h"
#include "cli/commands/groups.h"
#include "cli/commands/options.h"
#include "cli/commands/pages.h"
#include "cli/render/tree.h"
#include "cli/render/why.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Look and steer";

Status read_states(const Call& call, std::vector<WorkloadState>& states) {
  for (const std::string& word : call.values("state")) {
    states.push_back(TRY(at_path("--state", parse_word<WorkloadState>("state", word))));
  }
  if (!states.empty() || call.has("all")) return {};
  for (auto state : {WorkloadState::kWaiting, WorkloadState::kStarting, WorkloadState::kRunning,
                     WorkloadState::kStopping, WorkloadState::kPaused}) {
    states.push_back(state);
  }
  return {};
}

Result<int> list(Session& session) {
  const Call& call = session.call();
  wire::ListWorkloads wanted;
  TRY(read_states(call, wanted.state));
  if (const std::string* project = call.value("project")) wanted.project = *project;
  if (const std::string* owner = call.value("owner")) wanted.owner = *owner;
  if (const std::string* kind = call.value("kind"))
    wanted.kind = TRY(at_path("--kind", parse_word<Kind>("kind", *kind)));
  wanted.tag = call.values("tag");
  return session.show(TRY(all_pages(session, wanted)), render_workloads);
}

Result<int> show(Session& session) {
  WorkloadId id = TRY(named_workload(session));
  return session.show(TRY(session.ask(wire::ShowWorkload{.workload = id})), render_workload);
}

Result<int> why(Session& session) {
  WorkloadId id = TRY(named_workload(session));
  wire::Explanation explanation = TRY(session.ask(wire::ExplainWorkload{.workload = id}));
  if (session.console().is_json()) {
    session.console().print_json(wire::write(explanation));
    return 0;
  }
  wire::Workload workload = TRY(session.ask(wire::ShowWorkload{.workload = id}));
  session.console().print(render_why(workload, explanation, session.console().view()));
  return 0;
}

template <class Operation>
Result<int> steer(Session& session) {
  WorkloadId id = TRY(named_workload(session));
  auto render = std::is_same_v<Operation, wire::StopWorkload> ? render_stopped : render_summary;
  return session.show(TRY(session.ask(Operation{.workload = id})), render);
}

Result<int> queue(Session& session) {
  wire::ListQueue wanted;
  if (const std::string* project = session.call().value("project")) wanted.project = *project;
  return session.show(TRY(all_pages(session, wanted)), render_queue);
}

constexpr OptionSpec kListOptions[] = {
    {.name = "all", .letter = 'a', .help = "finished ones too"},
    {.name = "state", .value = "STATE", .help = "only in this state", .repeat = OptionSpec::Repeat::kMany},
    {.name = "project", .letter = 'p', .value = "PLACE", .help = "only of this project or department"},
    {.name = "owner", .value = "USER", .help = "only of this user"},
    {.name = "kind", .value = "KIND", .help = "only notebook, job or service"},
    {.name = "tag", .value = "KEY[=VALUE]", .help = "only with this tag", .repeat = OptionSpec::Repeat::kMany},
    kLimitOption,
};

constexpr OptionSpec kQueueOptions[] = {
    {.name = "project", .letter = 'p', .value = "PLACE", .help = "only of this project or department"},
    kLimitOption,
};

struct OneVerb {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::string_view details{};
};

constexpr Verb on_one(const OneVerb& verb, Result<int> (*run)(Session&)) {
  return {.name = verb.name,
          .group = kGroup,
          .arguments = "ID",
          .words_min = 1,
          .words_max = 1,
          .summary = verb.summary,
          .options = kNamedWorkloadOptions,
          .details = verb.details,
          .examples = verb.examples,
          .run = run};
}

constexpr std::string_view kWhyDetails =
    "Says each rule that is in the way with its numbers, when it is expected to start, and\n"
    "the smallest change in each dimension that would start it now, with its command.\n";

constexpr Verb kVerbs[] = {
    {.name = "ps",
     .group = kGroup,
     .summary = "list workloads that are not finished",
     .options = kListOptions,
     .examples = "moulin ps\n"
                 "moulin ps -a --owner ada --limit 20\n"
                 "moulin ps --state waiting --project nlp --json",
     .run = list},
    on_one({"show", "everything about one workload", "moulin show digits\nmoulin show w-6h31 --json"}, show),
    on_one({"why", "why it waits, and what would start it now", "moulin why pretrain", kWhyDetails}, why),
    on_one({"stop", "end it for good", "moulin stop digits\nmoulin stop sweep-3 --project nlp",
            "It is asked to end first, and has its grace time to save. What has ended stays as it is.\n"},
           steer<wire::StopWorkload>),
    on_one({"pause", "let it save, and release all it holds", "moulin pause notes"}, steer<wire::PauseWorkload>),
    on_one({"resume", "queue a paused workload again", "moulin resume notes"}, steer<wire::ResumeWorkload>),
    {.name = "queue",
     .group = kGroup,
     .summary = "what waits, first served first",
     .options = kQueueOptions,
     .examples = "moulin queue\nmoulin queue --project nlp",
     .run = queue},
};

}  // namespace

std::span<const Verb> workload_verbs() { return kVerbs; }

}  // namespace moulin::cli
