#include "cli/checkup.h"

#include <fmt/format.h>

#include "cli/columns.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

using enum Finding::Verdict;

constexpr Duration kExpiresSoon = hours(24 * 7);

Finding server_finding(const Checkup& checkup, const View& view) {
  std::string at = whereabouts_text(to_text(checkup.access.endpoint), checkup.access.server_from);
  bool answers = !checkup.refusal || checkup.refusal->code != Code::kUnavailable;
  if (!answers)
    return {"server", kTrouble, fmt::format("{}: {}", at, checkup.refusal->message), checkup.refusal->to_do};
  if (!checkup.server) return {"server", kGood, at};
  const wire::Server& server = *checkup.server;
  std::string text = fmt::format("{}: Moulin {}, up for {}", at, server.version, elapsed(server.started, view.now));
  if (server.version == checkup.client_version) return {"server", kGood, text};
  return {"server", kNote, fmt::format("{}; this program is {}", text, checkup.client_version),
          "restart the server with the newer program: `moulin down`, then `moulin up`; workloads go on"};
}

Finding token_finding(const Checkup& checkup, const View& view) {
  if (checkup.access.token.empty())
    return {"token", kTrouble, "none was found", "log in with `moulin login`, or set MOULIN_TOKEN_FILE"};
  std::string from = "from " + checkup.access.token_from;
  if (checkup.refusal)
    return {"token", kTrouble, fmt::format("{}: {}", from, checkup.refusal->message),
            "ask an administrator for a new one: moulin token create --user YOU"};
  if (!checkup.myself) return {"token", kGood, from};
  const wire::Myself& myself = *checkup.myself;
  std::string text = fmt::format("{}: you are {}", from, myself.user);
  if (myself.expires && myself.expires->us - view.now.us < kExpiresSoon.us)
    return {"token", kNote, fmt::format("{}; it expires {}", text, relative_text(*myself.expires, view)),
            "make another one with `moulin token create`, and log in with it"};
  return {"token", kGood, text};
}

void add_roles(const wire::Myself& myself, std::vector<Finding>& findings) {
  std::string roles;
  for (const wire::Binding& role : myself.roles) {
    roles += fmt::format("{}{} at {}", roles.empty() ? "" : ", ", to_text(role.role), role.at);
  }
  if (!roles.empty()) {
    findings.push_back({"roles", kGood, roles});
  } else if (!myself.workload) {
    findings.push_back({"roles", kNote, "none: you see nothing and may start nothing",
                        fmt::format("ask an administrator: moulin role grant {} member at PROJECT", myself.user)});
  }
}

Finding gpu_finding(const wire::Server& server) {
  switch (server.source) {
    case wire::GpuSource::kDriver:
      return {"GPUs", kGood, fmt::format("driver {}, CUDA {}", server.driver_version, server.cuda_version)};
    case wire::GpuSource::kSimulated:
      return {"GPUs", kNote, "simulated: they do not exist", "leave --simulate out where there are real ones"};
    case wire::GpuSource::kNone: break;
  }
  return {"GPUs", kNote, "none: " + server.note,
          "workloads without GPU run; to try the rest: moulin up --simulate 8xH100-80GB"};
}

void add_server(const wire::Server& server, std::vector<Finding>& findings) {
  if (server.accepts_commands) {
    findings.push_back({"commands", kGood, "accepted"});
  } else {
    findings.push_back({"commands", kTrouble, "refused: " + server.refusal,
                        "make room on the disk of the data folder; it goes on by itself, and workloads do anyway"});
  }
  findings.push_back(gpu_finding(server));
  if (server.isolates_users) {
    findings.push_back({"accounts", kGood, "each user's processes run under an account of their own"});
  } else {
    findings.push_back({"accounts", kNote, "all processes run under the server's account: no isolation between users",
                        "for several people, start the server as root: moulin user create NAME --account ACCOUNT"});
  }
  std::string counts;
  for (const auto& [state, count] : server.workloads) {
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, state);
  }
  findings.push_back({"workloads", kGood, counts.empty() ? "none" : counts});
  findings.push_back(
      {"journal", kGood,
       fmt::format("{} events, {} on disk, {}", server.journal.records, rough_bytes(server.journal.disk_bytes),
                   counted(server.journal.snapshots, "snapshot"))});
  for (const std::string& note : server.notes) findings.push_back({"machine", kNote, note});
}

void add_nodes(const std::vector<wire::Node>& nodes, std::vector<Finding>& findings) {
  constexpr size_t kNamedMax = 10;
  size_t troubled = 0;
  auto add = [&](Finding finding) {
    if (++troubled <= kNamedMax) findings.push_back(std::move(finding));
  };
  for (const wire::Node& node : nodes) {
    if (node.presence == Presence::kDown) {
      add({"node", kTrouble, node.name + " does not answer",
           "look at the machine; what ran there is run again elsewhere"});
    } else if (node.mode != NodeMode::kOpen) {
      add({"node", kNote, fmt::format("{} is {}: it takes nothing new", node.name, to_text(node.mode)),
           fmt::format("when it is in order again: moulin node uncordon {}", node.name)});
    }
    for (const wire::Gpu& gpu : node.gpus) {
      if (gpu.health == Health::kUnhealthy)
        add({"GPU", kTrouble, fmt::format("{} gpu {}: {}", node.name, gpu.index, gpu.health_reason),
             fmt::format("when it is repaired or reset: moulin node forget-faults {} {}", node.name, gpu.uuid)});
      if (gpu.foreign_processes > 0)
        add({"GPU", kNote,
             fmt::format("{} gpu {}: {} that Moulin did not start, with {}", node.name, gpu.index,
                         counted(gpu.foreign_processes, "process"), rough_bytes(gpu.foreign_memory_bytes)),
             fmt::format("end what should not be there; moulin node show {}", node.name)});
    }
  }
  if (troubled > kNamedMax)
    findings.push_back(
        {"nodes", kNote, fmt::format("and {} more like these", troubled - kNamedMax), "moulin node list"});
}

std::string_view sign_of(Finding::Verdict verdict) {
  switch (verdict) {
    case kGood: return "ok";
    case kNote: return "note";
    case kTrouble: return "FAIL";
  }
  return "";
}

// Whole without a terminal, so that a program finds a sentence on one line.
std::string lines_of(const std::string& text, const std::string& indent, const View& view) {
  return view.width > 0 ? wrapped(text, indent, view) : indent + text + "\n";
}

Ink ink_of(Finding::Verdict verdict) {
  switch (verdict) {
    case kGood: return Ink::kGreen;
    case kNote: return Ink::kYellow;
    case kTrouble: return Ink::kRed;
  }
  return Ink::kPlain;
}

}  // namespace

std::vector<Finding> findings_of(const Checkup& checkup, const View& view) {
  std::vector<Finding> findings{server_finding(checkup, view)};
  if (findings.front().verdict == kTrouble) return findings;
  findings.push_back(token_finding(checkup, view));
  if (checkup.myself) add_roles(*checkup.myself, findings);
  if (checkup.server) add_server(*checkup.server, findings);
  add_nodes(checkup.nodes, findings);
  return findings;
}

std::string render_findings(const std::vector<Finding>& findings, const View& view) {
  constexpr size_t kSign = 4;
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  std::string indent(kSign + 2 + width + 2, ' ');
  std::string text;
  for (const Finding& finding : findings) {
    std::string sign(sign_of(finding.verdict));
    std::string head = paint(sign, ink_of(finding.verdict), view) + std::string(kSign - sign.size() + 2, ' ');
    std::string body = lines_of(printable(finding.text), indent, view);
    text += head + fmt::format("{:<{}}", finding.name, width + 2) + body.substr(indent.size());
    if (!finding.to_do.empty()) text += lines_of("to do: " + printable(finding.to_do), indent, view);
  }
  return text;
}

}  // namespace moulin::cli
