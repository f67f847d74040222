// Figures of the whole server for Prometheus. Labels are words of ours only, never names
// of users, projects or nodes, so that their number is bounded.
#include "server/handlers/handlers.h"
#include "server/metrics_text.h"

namespace moulin {

// What may be placed on a device now.
enum class GpuUse { kFree, kPartlyHeld, kHeld, kForeign, kUnavailable };
template <>
inline constexpr auto kWords<GpuUse> =
    std::to_array<std::string_view>({"free", "partly_held", "held", "foreign", "unavailable"});

}  // namespace moulin

namespace moulin::handle {

namespace {

template <class Enum>
void write_counts(MetricsText& text, std::string_view label, const Counts<Enum>& counts) {
  for (size_t i = 0; i < kWords<Enum>.size(); ++i)
    text.sample({{label, kWords<Enum>[i]}}, counts.at(static_cast<Enum>(i)));
}

void write_workloads(MetricsText& text, const WorkloadCounts& counts) {
  text.family("workloads", "gauge", "Workloads in memory by state.");
  write_counts(text, "state", counts.states);
  text.family("queue_workloads", "gauge", "Waiting workloads by the first reason why they wait.");
  write_counts(text, "reason", counts.reasons);
  text.sample({{"reason", "not_looked_at"}}, counts.not_looked_at);
}

GpuUse use_of(const DeviceRoom& device, bool node_open) {
  if (!node_open || !device.offered) return GpuUse::kUnavailable;
  if (device.free <= Share{}) return GpuUse::kHeld;
  if (device.free < kWholeDevice) return GpuUse::kPartlyHeld;
  return device.foreign ? GpuUse::kForeign : GpuUse::kFree;
}

void write_hardware(MetricsText& text, const Published& view) {
  Counts<GpuUse> uses;
  Counts<Health> health;
  Share held;
  int64_t open = 0;
  for (const auto& [name, room] : view.index.room().nodes()) {
    open += room->open ? 1 : 0;
    for (const DeviceRoom& device : room->devices) {
      ++uses[use_of(device, room->open)];
      held += kWholeDevice - std::max(device.free, Share{});
    }
  }
  for (const auto& [name, node] : view.state.nodes) {
    for (const Gpu& gpu : node->gpus) ++health[gpu.health];
  }
  text.figure("nodes", "gauge", "Registered nodes.", static_cast<int64_t>(view.state.nodes.size()));
  text.figure("nodes_open", "gauge", "Nodes that take new work.", open);
  text.family("gpus", "gauge", "GPUs by what may be placed on them now.");
  write_counts(text, "state", uses);
  text.family("gpu_health", "gauge", "GPUs by health.");
  write_counts(text, "health", health);
  text.figure("gpu_held_thousandths", "gauge", "Thousandths of GPUs that workloads hold or that are kept for them.",
              held.milli);
}

void write_reactor(MetricsText& text, const ReactorStats& stats) {
  text.figure("commands_total", "counter", "Commands judged.", stats.commands);
  text.figure("commands_refused_total", "counter", "Commands refused because too many waited.", stats.refused_busy);
  text.figure("commands_queued", "gauge", "Commands waiting to be judged.", static_cast<int64_t>(stats.queued));
  text.figure("events_total", "counter", "Events decided in this epoch.", stats.events);
  text.figure("writable", "gauge", "1 while commands are accepted.", static_cast<int64_t>(stats.writable ? 1 : 0));
  text.figure("scheduling_passes_total", "counter", "Passes of the scheduler.", stats.passes);
  text.figure("scheduling_pass_longest_seconds", "gauge", "The longest pass of this epoch.", stats.pass_longest);
  text.figure("starts_total", "counter", "Attempts and replicas started.", stats.starts);
  text.figure("evictions_total", "counter", "Evictions asked for.", stats.evictions);
  text.figure("plan_items_dropped_total", "counter", "Items of plans that no longer held.", stats.dropped);
}

void write_journal(MetricsText& text, const JournalStats& journal, const CommitterStats& committer) {
  text.figure("journal_records_total", "counter", "Durable events since the data folder was made.", journal.records);
  text.figure("journal_payload_bytes_total", "counter", "Bytes of these events.", journal.payload.count);
  text.figure("journal_disk_bytes", "gauge", "Bytes of all files of the journal.", journal.on_disk.count);
  text.figure("journal_snapshots", "gauge", "Snapshots that are kept.", journal.snapshots);
  text.figure("journal_batches_total", "counter", "Batches made durable in this epoch.", committer.batches);
  text.figure("journal_syncs_total", "counter", "Appends with fsync that these took.", committer.groups);
  text.figure("journal_batches_refused_total", "counter", "Batches that could not be written.", committer.refused);
  text.figure("journal_batches_queued", "gauge", "Batches waiting for the disk.",
              static_cast<int64_t>(committer.queued));
}

void write_http(MetricsText& text, const HttpCounters& http) {
  text.figure("http_refusals_total", "counter", "Requests that were refused before any route.", http.refusals);
  text.figure("http_timeouts_total", "counter", "Connections closed by one of the times.", http.timeouts);
  text.figure("http_connections", "gauge", "Open connections.", http.connections_open);
  text.figure("http_connections_accepted_total", "counter", "Connections accepted.", http.connections_accepted);
  text.figure("http_connections_refused_total", "counter", "Connections above the limit.", http.connections_refused);
  text.figure("http_buffered_bytes", "gauge", "Requests and answers in memory.", http.buffered_bytes);
  text.figure("http_streams", "gauge", "Open streams.", http.streams_open);
  text.figure("http_streams_dropped_total", "counter", "Streams cut off because their reader was too slow.",
              http.streams_dropped);
}

Result<Response> metrics(const Call& call) {
  TRY(parameters<wire::ReadMetrics>(call));
  MetricsText text;
  text.family("build_info", "gauge", "1, with the version of the program.");
  text.sample({{"version", call.world.facts.version}}, int64_t{1});
  text.figure("epoch", "gauge", "Lives of the server since the data folder was made.", call.state().epoch.value);
  write_workloads(text, *call.world.digests.counts.get(call.view, count_workloads));
  write_hardware(text, *call.view);
  write_reactor(text, call.world.reactor.stats());
  write_journal(text, TRY(call.world.journal.stats()), call.world.committer.stats());
  write_http(text, call.world.http_counters());
  text.figure("exec_open", "gauge", "Commands that run beside replicas.",
              static_cast<int64_t>(call.world.execs.open()));
  call.world.http_metrics.write(text);
  return Response{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = text.take()};
}

}  // namespace

void read_metrics(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, metrics(asked)); });
}

}  // namespace moulin::handle
