#include "cli/render/workloads.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

// Where it runs, why it waits, or how it was last.
std::string detail_of(const wire::WorkloadSummary& workload, const View& view) {
  if (workload.state == WorkloadState::kWaiting) {
    std::string text = workload.reason ? workload.reason->text : "";
    if (workload.expected_start)
      text = fmt::format("starts {}; {}", relative_text(*workload.expected_start, view), text);
    return text;
  }
  if (workload.state == WorkloadState::kFailed && workload.exit) {
    std::string text = exit_text(*workload.exit);
    if (workload.cause && *workload.cause != Cause::kNone) text += fmt::format(" ({})", to_text(*workload.cause));
    return text;
  }
  return nodes_text(workload.nodes);
}

std::string replicas_text(const wire::ReplicaCount& replicas) {
  std::string range = replicas.min == replicas.max ? fmt::format("{}", replicas.min)
                                                   : fmt::format("{} to {}", replicas.min, replicas.max);
  return fmt::format("{}, {} running", range, replicas.running);
}

std::string command_text(const Json& spec) {
  const Json* run = spec.find("run");
  if (run == nullptr) return "";
  if (run->is_string()) return run->string();
  std::string text;
  if (!run->is_array()) return text;
  for (const Json& argument : run->items()) {
    if (!argument.is_string()) continue;
    bool is_plain =
        !argument.string().empty() && argument.string().find_first_of(" \t\n'\"\\$|&;<>()*?") == std::string::npos;
    text += (text.empty() ? "" : " ") + (is_plain ? argument.string() : write_json(argument));
  }
  return text;
}

// "0-3, 6" of 0, 1, 2, 3 and 6, which ascend.
std::string ranges_text(const std::vector<int32_t>& indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", indices[i]);
    if (end - i > 1) text += fmt::format("-{}", indices[end - 1]);
    i = end;
  }
  return text;
}

// Devices of which it holds as much, together: "1 of each of gpu 0-7 (79GiB each, advisory)".
std::string grants_text(const std::vector<wire::Grant>& grants) {
  std::vector<std::pair<wire::Grant, std::vector<int32_t>>> alike;
  for (const wire::Grant& grant : grants) {
    auto same = [&](const auto& group) {
      return group.first.share_milli == grant.share_milli && group.first.memory_bytes == grant.memory_bytes &&
             group.first.isolation == grant.isolation;
    };
    auto found = std::find_if(alike.begin(), alike.end(), same);
    if (found == alike.end()) found = alike.insert(alike.end(), {grant, {}});
    found->second.push_back(grant.index);
  }
  std::string text;
  for (auto& [grant, indices] : alike) {
    std::sort(indices.begin(), indices.end());
    bool one = indices.size() == 1;
    text += fmt::format("{}{} of {}gpu {} ({}{}, {})", text.empty() ? "" : "; ", to_text(grant.share_milli),
                        one ? "" : "each of ", ranges_text(indices), rough_bytes(grant.memory_bytes),
                        one ? "" : " each", to_text(grant.isolation));
  }
  return text.empty() ? "no GPU" : text;
}

std::string placement_lines(const wire::Workload& workload, const View& view) {
  if (workload.placement.empty()) return "";
  Table table({{"REPLICA", Align::kRight}, {"NODE"}, {"CPU", Align::kRight}, {"MEMORY", Align::kRight}, {"GPU"}});
  for (const wire::ReplicaPlacement& replica : workload.placement) {
    table.add({{fmt::format("{}", replica.replica)},
               {replica.node},
               {replica.cpu_milli.milli > 0 ? to_text(replica.cpu_milli) : ""},
               {replica.memory_bytes.count > 0 ? rough_bytes(replica.memory_bytes) : ""},
               {grants_text(replica.gpus)}});
  }
  return "\n" + table.text(view);
}

// Why the attempt is over, in words.
std::string ending_of(const wire::Attempt& attempt) {
  std::string text(attempt.outcome == Outcome::kNone ? to_text(attempt.state) : to_text(attempt.outcome));
  if (attempt.cause != Cause::kNone) text += fmt::format(" ({})", to_text(attempt.cause));
  if (attempt.evicted_for) text += fmt::format(" for {}", to_text(*attempt.evicted_for));
  for (const wire::Replica& replica : attempt.replicas) {
    if (!replica.exit || attempt.outcome != Outcome::kFailed) continue;
    if (replica.exit->code == 0 && !replica.exit->limit_hit) continue;
    return text + fmt::format(": replica {} {}", replica.replica, exit_text(*replica.exit));
  }
  return text;
}

std::string attempt_lines(const wire::Workload& workload, const View& view) {
  if (workload.attempts.empty()) return "";
  Table table({{"ATTEMPT", Align::kRight},
               {"PLACED"},
               {"RAN", Align::kRight},
               {"CHECKPOINT"},
               {"HELD GPU-S", Align::kRight},
               {"LOST", Align::kRight},
               {"ENDED"}});
  for (const wire::Attempt& attempt : workload.attempts) {
    table.add({{fmt::format("{}", attempt.number)},
               {clock_text(attempt.created, view)},
               {attempt.started ? elapsed(*attempt.started, attempt.ended.value_or(view.now)) : ""},
               {attempt.checkpointed ? clock_text(*attempt.checkpointed, view) : ""},
               {gpu_seconds_text(attempt.held_gpu_seconds)},
               {gpu_seconds_text(attempt.lost_gpu_seconds)},
               {ending_of(attempt)}});
  }
  return "\n" + table.text(view);
}

std::string state_text(const wire::Workload& workload, const View& view) {
  return fmt::format("{} for {}", to_text(workload.state), elapsed(workload.state_since, view.now));
}

std::string usage_text(const wire::WorkloadUsage& usage) {
  return fmt::format("{} held, {} lost, {} active", gpu_seconds_text(usage.held_gpu_seconds),
                     gpu_seconds_text(usage.lost_gpu_seconds), gpu_seconds_text(GpuTime{usage.gpu_active_seconds.us}));
}

void add_waiting(const wire::Workload& workload, const View& view, Facts& facts) {
  for (const wire::ReasonBrief& reason : workload.reasons) facts.add("waits", reason.text);
  if (workload.expected_start) facts.add("expected start", relative_text(*workload.expected_start, view));
  if (!workload.expected_start && workload.state == WorkloadState::kWaiting) {
    facts.add("expected start", "cannot be told: " + workload.expected_start_reason);
  }
  if (workload.eligible_from) facts.add("next run", relative_text(*workload.eligible_from, view));
}

}  // namespace

Ink ink_of(WorkloadState state) {
  switch (state) {
    case WorkloadState::kWaiting: return Ink::kYellow;
    case WorkloadState::kStarting: return Ink::kCyan;
    case WorkloadState::kRunning: return Ink::kGreen;
    case WorkloadState::kStopping: return Ink::kCyan;
    case WorkloadState::kPaused: return Ink::kBlue;
    case WorkloadState::kSucceeded: return Ink::kPlain;
    case WorkloadState::kFailed: return Ink::kRed;
    case WorkloadState::kStopped: return Ink::kDim;
  }
  return Ink::kPlain;
}

std::string nodes_text(const std::vector<std::string>& nodes) {
  if (nodes.size() > 3) return fmt::format("{} and {} more", nodes[0], nodes.size() - 1);
  return join(nodes, ", ");
}

std::string exit_text(const wire::Exit& exit) {
  if (exit.limit_hit) return "crossed a limit" + (exit.error ? ": " + *exit.error : "");
  if (exit.error) return "could not run: " + *exit.error;
  if (exit.vanished) return "vanished with its node, or when the machine restarted";
  if (exit.signal) return fmt::format("ended by signal {}", *exit.signal);
  if (exit.code) return fmt::format("exit code {}", *exit.code);
  return "ended";
}

std::string render_workloads(const wire::WorkloadPage& page, const View& view) {
  if (page.items.empty()) return "No workloads. `moulin ps -a` shows finished ones too.\n";
  Table table({{"ID", Align::kLeft, Fit::kWhole},
               {"NAME"},
               {"PROJECT"},
               {"CLASS"},
               {"STATE"},
               {"FOR", Align::kRight},
               {"GPU", Align::kRight},
               {"WHERE OR WHY"}});
  for (const wire::WorkloadSummary& workload : page.items) {
    table.add({{to_text(workload.id)},
               {workload.name},
               {workload.project},
               {std::string(to_text(workload.class_))},
               {std::string(to_text(workload.state)), ink_of(workload.state)},
               {elapsed(workload.state_since, view.now)},
               {workload.gpu_milli.milli > 0 ? to_text(workload.gpu_milli) : "-"},
               {detail_of(workload, view)}});
  }
  std::string text = table.text(view);
  if (page.next) text += "There are more: narrow the list, or raise --limit.\n";
  return text;
}

std::string render_workload(const wire::Workload& workload, const View& view) {
  Facts facts;
  facts.add("name", workload.name);
  facts.add("id", to_text(workload.id));
  facts.add("state", state_text(workload, view), ink_of(workload.state));
  add_waiting(workload, view, facts);
  facts.add("project", fmt::format("{} (owner {})", workload.project, workload.owner));
  facts.add("kind", fmt::format("{}, class {}, priority {}", to_text(workload.kind), to_text(workload.class_),
                                workload.priority));
  facts.add("command", command_text(workload.spec));
  facts.add("replicas", workload.replicas.max > 1 ? replicas_text(workload.replicas) : "");
  if (workload.origin.kind == OriginKind::kArray) {
    facts.add("array",
              fmt::format("{}, element {}", workload.origin.name.value_or(""), workload.origin.index.value_or(0)));
  }
  facts.add("submitted", relative_text(workload.submitted, view));
  if (workload.finished) facts.add("finished", relative_text(*workload.finished, view));
  if (workload.attempt_count > 0) {
    facts.add("ran", fmt::format("{} in {}", brief(workload.usage.running_seconds),
                                 counted(workload.attempt_count, "attempt")));
  }
  if (workload.preemptions > 0) facts.add("gave way", counted(workload.preemptions, "time"));
  if (workload.retries > 0) facts.add("retries", fmt::format("{}", workload.retries));
  if (workload.usage.held_gpu_seconds.micro > 0) facts.add("GPU-seconds", usage_text(workload.usage));
  for (const auto& [name, value] : workload.tags) facts.add("tag " + name, value);
  if (workload.simulated) facts.add("note", "its GPUs are simulated", Ink::kYellow);
  return facts.text(view) + placement_lines(workload, view) + attempt_lines(workload, view);
}

std::string render_submitted(const wire::Submitted& submitted, const View&) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < submitted.workloads.size(); ++i) {
    bool is_shown = submitted.ids.size() <= kShown || i + 1 < kShown;
    if (!is_shown) continue;
    text += fmt::format("{}  {}\n", to_text(submitted.workloads[i].id), submitted.workloads[i].name);
  }
  if (submitted.ids.size() > kShown) text += fmt::format("and {} more\n", submitted.ids.size() - kShown + 1);
  return text;
}

std::string render_stopped(const wire::WorkloadSummary& workload, const View& view) {
  bool by_itself = workload.state == WorkloadState::kSucceeded || workload.state == WorkloadState::kFailed;
  if (!by_itself) return render_summary(workload, view);
  return fmt::format("{} {} has already {}\n", to_text(workload.id), workload.name,
                     paint(to_text(workload.state), ink_of(workload.state), view));
}

std::string render_summary(const wire::WorkloadSummary& workload, const View& view) {
  // It ended by itself, before what was asked for: that changed nothing.
  bool already = workload.state == WorkloadState::kSucceeded || workload.state == WorkloadState::kFailed;
  return fmt::format("{} {} {} {}\n", to_text(workload.id), workload.name, already ? "has already" : "is",
                     paint(to_text(workload.state), ink_of(workload.state), view));
}

}  // namespace moulin::cli
