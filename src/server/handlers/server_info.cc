// The server itself: facts and readiness.
#include "core/may.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

constexpr std::string_view kNotWritable = "the journal cannot be written: see the server's log";

std::map<std::string, int64_t> states_of(const WorkloadCounts& counts) {
  std::map<std::string, int64_t> states;
  for (size_t i = 0; i < kWords<WorkloadState>.size(); ++i) {
    auto state = static_cast<WorkloadState>(i);
    states[std::string(to_text(state))] = counts.states.at(state);
  }
  return states;
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
                   .workloads = states_of(*call.world.digests.counts.get(call.view, count_workloads)),
                   .journal = {.last_sequence = journal.last.value,
                               .records = journal.records,
                               .payload_bytes = journal.payload,
                               .disk_bytes = journal.on_disk,
                               .snapshots = journal.snapshots,
                               .newest_snapshot = journal.newest_snapshot.value}};
  return ok(out);
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

}  // namespace moulin::handle
