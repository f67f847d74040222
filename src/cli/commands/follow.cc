// logs, events.
#include "cli/follow.h"

#include "cli/commands/groups.h"
#include "cli/commands/options.h"
#include "cli/commands/pages.h"
#include "cli/log_printer.h"
#include "cli/render/server.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Look and steer";

Result<wire::ReadWorkloadLogs> read_log_options(const Call& call, const View& view) {
  wire::ReadWorkloadLogs wanted{.follow = call.has("follow")};
  if (const std::string* since = call.value("since")) wanted.since = TRY(parse_since(*since, view));
  if (const std::string* tail = call.value("tail")) wanted.tail = TRY(parse_integer("--tail", *tail));
  auto read_index = [&](std::string_view option, std::optional<int32_t>& to) -> Status {
    const std::string* text = call.value(option);
    if (text == nullptr) return {};
    int64_t index = TRY(parse_integer("--" + std::string(option), *text));
    to = static_cast<int32_t>(std::clamp<int64_t>(index, -1, INT32_MAX));  // the server names the range
    return {};
  };
  TRY(read_index("replica", wanted.replica));
  TRY(read_index("attempt", wanted.attempt));
  if (const std::string* stream = call.value("stream")) {
    wanted.stream = TRY(at_path("--stream", parse_word<wire::LogStream>("stream", *stream)));
  }
  return wanted;
}

Result<int> logs(Session& session) {
  Console& console = session.console();
  wire::ReadWorkloadLogs wanted = TRY(read_log_options(session.call(), console.view()));
  wanted.workload = TRY(named_workload(session));
  // One that finished long ago is shown no more, and still has logs.
  Result<wire::Workload> workload = session.ask(wire::ShowWorkload{.workload = wanted.workload});
  if (!workload && workload.error().code != Code::kNotFound) return workload.error();
  bool has_many = !workload || workload->replicas.max > 1;
  LogPrinter printer(console,
                     {.names_replicas = has_many && !wanted.replica, .shows_times = session.call().has("timestamps")});
  LogListener listener{.on_line = [&](const wire::LogLine& line) { printer.print(line); },
                       .on_state =
                           [&](const wire::LogState& state) {
                             if (wanted.follow || console.is_json()) printer.print_state(state);
                           }};
  auto when_broken = wanted.follow ? FollowOptions::WhenBroken::kGoOn : FollowOptions::WhenBroken::kFail;
  std::optional<wire::LogState> end = TRY(follow_logs(session, wanted, {.when_broken = when_broken}, listener));
  printer.finish();
  return end ? 0 : kInterruptedStatus;
}

Result<std::optional<int64_t>> read_after(const Call& call) {
  const std::string* text = call.value("after");
  if (text == nullptr) return std::optional<int64_t>{};
  return std::optional<int64_t>{TRY(parse_integer("--after", *text))};
}

// What happened to one workload so far.
Result<int> past_events(Session& session) {
  wire::ListWorkloadEvents wanted{.workload = TRY(named_workload(session))};
  wanted.after = TRY(read_after(session.call()));
  return session.show(TRY(all_pages(session, wanted)), render_events);
}

Status print_event(Session& session, const StreamEvent& message) {
  Json data = TRY(parse_json(message.data));
  wire::Event event = TRY(wire::read<wire::Event>(data));
  Console& console = session.console();
  if (console.is_json()) {
    console.print_json(wire::write(event));
  } else {
    console.print(render_event(event, console.view()));
  }
  return {};
}

// What happens from now on, or since `after`, until so many have come.
Result<int> follow_events(Session& session, wire::StreamEvents wanted) {
  int64_t left = session.call().has("limit") ? TRY(wanted_items(session.call())) : INT64_MAX;
  auto stream = [&](const std::optional<std::string>& last_event_id) {
    wanted.last_event_id = last_event_id;
    return wire::write_parameters(wanted);
  };
  TRY(session.ask(wire::CheckReadiness{}));  // no server at all is an error; later, one that went is waited for
  Status broken;
  StreamEnd end = TRY(follow_stream(session, stream, {}, [&](const StreamEvent& message) {
    broken = print_event(session, message);
    return broken && --left > 0 ? Flow::kContinue : Flow::kStop;
  }));
  TRY(std::move(broken));
  return end == StreamEnd::kWoken ? kInterruptedStatus : 0;
}

Result<int> events(Session& session) {
  const Call& call = session.call();
  if (!call.has("follow")) {
    if (!call.words.empty()) return past_events(session);
    return Error{.code = Code::kInvalid,
                 .message = "names no workload",
                 .to_do = "name one, or add -f to watch everything that happens from now on"};
  }
  wire::StreamEvents wanted;
  if (const std::string* project = call.value("project"); project && call.words.empty()) wanted.project = *project;
  if (!call.words.empty()) wanted.workload = TRY(named_workload(session));
  wanted.after = TRY(read_after(call));
  return follow_events(session, std::move(wanted));
}

constexpr OptionSpec kLogOptions[] = {
    {.name = "follow", .letter = 'f', .help = "wait for more until it has finished"},
    {.name = "since", .value = "TIME", .help = "only from then on: 10m is ten minutes ago"},
    {.name = "tail", .value = "N", .help = "only the last lines of each replica"},
    {.name = "replica", .value = "N", .help = "only of this replica"},
    {.name = "attempt", .value = "N", .help = "of this attempt (unless given: the newest)"},
    {.name = "stream", .value = "STREAM", .help = "only stdout or stderr"},
    {.name = "timestamps", .letter = 't', .help = "when each line was written"},
    kProjectOption,
};

constexpr OptionSpec kEventOptions[] = {
    {.name = "follow", .letter = 'f', .help = "watch what happens from now on"},
    {.name = "after", .value = "N", .help = "only what came after this sequence number"},
    {.name = "project", .letter = 'p', .value = "PLACE", .help = "only of this project or department"},
    kLimitOption,
};

constexpr Verb kVerbs[] = {
    {.name = "logs",
     .group = kGroup,
     .arguments = "ID",
     .words_min = 1,
     .words_max = 1,
     .summary = "what its processes wrote",
     .options = kLogOptions,
     .examples = "moulin logs digits -f\n"
                 "moulin logs digits --tail 20 -t\n"
                 "moulin logs gang --replica 2 --stream stderr --since 10m",
     .run = logs},
    {.name = "events",
     .group = kGroup,
     .arguments = "[ID]",
     .words_max = 1,
     .summary = "what happened to it; with -f, to everything",
     .options = kEventOptions,
     .details = "Without an ID it needs -f, and ends with Ctrl-C or after --limit events.\n",
     .examples = "moulin events digits\n"
                 "moulin events -f --project nlp --json\n"
                 "moulin events -f --after 1200 --limit 10",
     .run = events},
};

}  // namespace

std::span<const Verb> follow_verbs() { return kVerbs; }

}  // namespace moulin::cli
