#include "cli/render/server.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/render/why.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin {

namespace {

std::string gpu_source_text(const wire::Server& server) {
  switch (server.source) {
    case wire::GpuSource::kNone: return "none: " + server.note;
    case wire::GpuSource::kSimulated: return "simulated: they do not exist";
    case wire::GpuSource::kDriver: return fmt::format("driver {}, CUDA {}", server.driver_version, server.cuda_version);
  }
  return "";
}

std::string verdict_line(const wire::DryRunVerdict& verdict, const View& view) {
  std::string who =
      verdict.count == 1 ? verdict.name : fmt::format("{} ({})", verdict.name, counted(verdict.count, "workload"));
  who = printable(who);
  if (!verdict.accepted) return who + " would be " + paint("refused", Ink::kRed, view);
  if (verdict.starts_now) return who + " would " + paint("start now", Ink::kGreen, view);
  return who + " would " + paint("wait", Ink::kYellow, view);
}

std::string problem_lines(const wire::Problem& problem, const View& view) {
  std::string text;
  std::string detail = printable(problem.detail);
  text += wrapped((problem.field ? *problem.field + ": " : "") + detail, "  ", view);
  if (problem.given) text += wrapped("given: " + printable(*problem.given), "  ", view);
  if (problem.allowed) text += wrapped("allowed: " + printable(*problem.allowed), "  ", view);
  if (problem.to_do) text += wrapped("to do: " + printable(*problem.to_do), "  ", view);
  return text;
}

}  // namespace

std::string render_server(const wire::Server& server, const View& view) {
  Facts facts;
  facts.add("server", fmt::format("Moulin {}, up for {}", server.version, elapsed(server.started, view.now)));
  facts.add("commands", server.accepts_commands ? "accepted" : "refused: " + server.refusal,
            server.accepts_commands ? Ink::kGreen : Ink::kRed);
  facts.add("GPUs", gpu_source_text(server), server.source == wire::GpuSource::kDriver ? Ink::kPlain : Ink::kYellow);
  facts.add("isolation between users", server.isolates_users ? "each user has an account" : "none",
            server.isolates_users ? Ink::kPlain : Ink::kYellow);
  std::string counts;
  for (const auto& [state, count] : server.workloads) {
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, state);
  }
  facts.add("workloads", counts.empty() ? "none" : counts);
  facts.add("journal",
            fmt::format("{} events, {} on disk, {}", server.journal.records, rough_bytes(server.journal.disk_bytes),
                        counted(server.journal.snapshots, "snapshot")));
  std::string text = facts.text(view);
  for (const std::string& note : server.notes) text += wrapped("Note: " + printable(note), "", view);
  return text;
}

std::string render_event(const wire::Event& event, const View& view) {
  std::string line = paint(clock_text(event.time, view), Ink::kDim, view);
  if (event.workload) line += "  " + paint(to_text(*event.workload), Ink::kCyan, view);
  line += "  " + printable(event.text);
  if (event.by && event.text.find(*event.by) == std::string::npos)
    line += paint(" (by " + printable(*event.by) + ")", Ink::kDim, view);
  return line + "\n";
}

std::string render_events(const wire::EventPage& page, const View& view) {
  std::string text;
  for (const wire::Event& event : page.items) text += render_event(event, view);
  return text.empty() ? "Nothing happened yet.\n" : text;
}

std::string render_dry_run(const wire::DryRun& dry_run, const View& view) {
  std::string text;
  for (const wire::DryRunVerdict& verdict : dry_run.workloads) {
    text += verdict_line(verdict, view) + "\n";
    if (verdict.problem) text += problem_lines(*verdict.problem, view);
    if (verdict.explanation && verdict.accepted && !verdict.starts_now)
      text += render_explanation(*verdict.explanation, view);
  }
  return text;
}

}  // namespace moulin
