// The server itself: facts, readiness, figures.
#include <fmt/format.h>

#include "core/may.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

constexpr std::string_view kNotWritable = "the journal cannot be written: see the server's log";

std::map<std::string, int64_t> count_states(const State& state) {
  std::map<std::string, int64_t> counts;
  for (std::string_view word : kWords<WorkloadState>) counts[std::string(word)] = 0;
  for (const auto& [id, workload] : state.workloads) ++counts[std::string(to_text(workload->state))];
  return counts;
}

Result<Response> server(const Call& call) {
  const ServerFacts& facts = call.world.facts;
  JournalStats journal = TRY(call.world.journal.stats());
  bool writable = call.world.reactor.stats().writable;
  wire::Server out{.version = facts.version,
                   .api_version = "v1",
                   .epoch = call.state().epoch.value,
                   .started = call.wall(facts.started),
                   .simulated = call.state().simulated,
                   .source = static_cast<wire::GpuSource>(facts.inventory.source),
                   .driver_version = facts.inventory.driver_version,
                   .cuda_version = facts.inventory.cuda_version,
                   .note = facts.inventory.note,
                   .accepts_commands = writable,
                   .refusal = writable ? "" : std::string(kNotWritable),
                   .isolates_users = facts.isolates_users,
                   .notes = facts.notes,
                   .workloads = count_states(call.state()),
                   .journal = {.last_sequence = journal.last.value,
                               .records = journal.records,
                               .payload_bytes = journal.payload,
                               .disk_bytes = journal.on_disk,
                               .snapshots = journal.snapshots,
                               .newest_snapshot = journal.newest_snapshot.value}};
  return ok(out);
}

// One figure in the text format of Prometheus.
void figure(std::string& out, std::string_view name, std::string_view type, std::string_view help, double value) {
  out += fmt::format("# HELP moulin_{} {}\n# TYPE moulin_{} {}\nmoulin_{} {}\n", name, help, name, type, name, value);
}

std::string metrics(const Call& call) {
  ReactorStats reactor = call.world.reactor.stats();
  HttpCounters http = call.world.http_counters();
  auto seconds_of = [](Duration duration) { return static_cast<double>(duration.us) / 1e6; };
  auto whole = [](auto number) { return static_cast<double>(number); };
  std::string out;
  out += "# HELP moulin_workloads Workloads in memory by state\n# TYPE moulin_workloads gauge\n";
  for (const auto& [word, count] : count_states(call.state()))
    out += fmt::format("moulin_workloads{{state=\"{}\"}} {}\n", word, count);
  figure(out, "journal_sequence", "counter", "Durable events", whole(call.state().sequence.value));
  figure(out, "commands_total", "counter", "Commands judged", whole(reactor.commands));
  figure(out, "commands_refused_total", "counter", "Commands refused because too many waited",
         whole(reactor.refused_busy));
  figure(out, "commands_queued", "gauge", "Commands waiting", whole(reactor.queued));
  figure(out, "writable", "gauge", "1 while commands are accepted", reactor.writable ? 1 : 0);
  figure(out, "scheduling_passes_total", "counter", "Passes of the scheduler", whole(reactor.passes));
  figure(out, "scheduling_pass_seconds_max", "gauge", "The longest pass of this epoch",
         seconds_of(reactor.pass_longest));
  figure(out, "starts_total", "counter", "Attempts and replicas started", whole(reactor.starts));
  figure(out, "evictions_total", "counter", "Evictions asked for", whole(reactor.evictions));
  figure(out, "plan_items_dropped_total", "counter", "Items of plans that no longer held", whole(reactor.dropped));
  figure(out, "http_requests_total", "counter", "Requests given to a handler", whole(http.requests));
  figure(out, "http_refusals_total", "counter", "Requests that the server refused by itself", whole(http.refusals));
  figure(out, "http_connections", "gauge", "Open connections", whole(http.connections_open));
  figure(out, "http_streams", "gauge", "Open streams", whole(http.streams_open));
  return out;
}

}  // namespace

void show_server(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, server(asked)); });
}

void stop_server(Call call) {
  Status allowed = require(call.state(), call.actor, Verb::kManageSystem, kRootTree);
  if (!allowed) return call.responder.answer(problem_response(allowed.error()));
  call.responder.answer(nothing(202));
  call.world.stop_server();
}

void check_readiness(Call call) {
  if (call.world.reactor.stats().writable) return call.responder.answer(ok(wire::Health{.status = "ok"}));
  call.responder.answer(problem_response({.code = Code::kUnavailable,
                                          .message = std::string(kNotWritable),
                                          .to_do = "free disk space or mend the data folder"}));
}

void read_metrics(Call call) {
  in_background(std::move(call), [](Call asked) {
    asked.responder.answer({.content_type = "text/plain; version=0.0.4", .body = metrics(asked)});
  });
}

}  // namespace moulin::handle
