// doctor, down, version.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/checkup.h"
#include "cli/commands/groups.h"
#include "cli/commands/pages.h"
#include "cli/session.h"
#include "cli/status_line.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Server";
constexpr Duration kDownPause = milliseconds(50);
constexpr int kDownLooksMax = 600;  // 30 seconds

// Asks until a question is not answered.
Checkup check_up(Session& session, const Access& access) {
  Checkup checkup{.access = access, .client_version = MOULIN_VERSION};
  auto asked = [&](auto operation, auto& to) {
    auto answer = session.ask(operation);
    if (!answer) {
      checkup.refusal = answer.error();
      return false;
    }
    to = std::move(*answer);
    return true;
  };
  if (!asked(wire::ShowServer{}, checkup.server) || !asked(wire::WhoAmI{}, checkup.myself)) return checkup;
  Result<wire::NodePage> nodes = session.ask(wire::ListNodes{.limit = kItemsOfPageMax});
  if (nodes) checkup.nodes = std::move(nodes->items);  // who may not see them has nothing to do about them
  return checkup;
}

Json findings_document(const std::vector<Finding>& findings) {
  constexpr auto kVerdicts = std::to_array<std::string_view>({"good", "note", "trouble"});
  JsonArray checks;
  for (const Finding& finding : findings) {
    checks.push_back(Json::object({{"name", finding.name},
                                   {"verdict", kVerdicts[static_cast<size_t>(finding.verdict)]},
                                   {"text", finding.text},
                                   {"to_do", finding.to_do}}));
  }
  return checks;
}

// The status of the first thing that is in the way.
int status_of(const Checkup& checkup, const std::vector<Finding>& findings) {
  if (checkup.refusal) return exit_status(checkup.refusal->code);
  if (!checkup.server->accepts_commands) return exit_status(Code::kUnavailable);
  auto is_trouble = [](const Finding& finding) { return finding.verdict == Finding::Verdict::kTrouble; };
  return std::any_of(findings.begin(), findings.end(), is_trouble) ? exit_status(Code::kInternal) : 0;
}

Result<int> doctor(Session& session) {
  Console& console = session.console();
  const Access* access = TRY(session.access());
  Checkup checkup = check_up(session, *access);
  std::vector<Finding> findings = findings_of(checkup, console.view());
  if (console.is_json()) {
    console.print_json(Json::object({{"server_at", to_text(access->endpoint)},
                                     {"server_from", access->server_from},
                                     {"token_from", access->token_from.empty() ? Json() : Json(access->token_from)},
                                     {"server", checkup.server ? wire::write(*checkup.server) : Json()},
                                     {"checks", findings_document(findings)}}));
  } else {
    console.print(render_findings(findings, console.view()));
  }
  return status_of(checkup, findings);
}

// The server answers as long as it lives; it has gone when nobody does.
Result<int> down(Session& session) {
  std::unique_ptr<Interrupts> interrupts = session.surroundings().hold_interrupts();
  TRY(session.ask(wire::StopServer{}));
  StatusLine line(session.console());
  line.show("moulin: the server finishes what it has begun");
  for (int look = 0; look < kDownLooksMax; ++look) {
    std::unique_ptr<ApiClient> api = TRY(session.connect(-1));
    Result<wire::Health> health = api->ask(wire::CheckHealth{});
    if (!health && health.error().code == Code::kUnavailable) {
      line.clear();
      session.console().note("The server is down. Its workloads keep running; `moulin up` finds them again.");
      return 0;
    }
    if (interrupts->wait(kDownPause)) return kInterruptedStatus;
  }
  return Error{.code = Code::kUnavailable,
               .message = "the server was asked to go down and still answers after 30 seconds",
               .to_do = "look at server.log in its data folder"};
}

// `--version` asks no server: that one may be slow, or not be there.
Result<int> version(Session& session) {
  std::optional<std::string> of_server;
  if (!session.call().has("client")) {
    if (Result<wire::Server> server = session.ask(wire::ShowServer{})) of_server = server->version;
  }
  if (session.console().is_json()) {
    session.console().print_json(
        Json::object({{"version", MOULIN_VERSION}, {"server_version", of_server ? Json(*of_server) : Json()}}));
    return 0;
  }
  session.console().print(fmt::format("moulin {}\n", MOULIN_VERSION));
  if (of_server) session.console().print(fmt::format("server {}\n", *of_server));
  return 0;
}

constexpr OptionSpec kVersionOptions[] = {{.name = "client", .help = "only of this program, as --version"}};

constexpr Verb kVerbs[] = {
    {.name = "doctor",
     .group = kGroup,
     .summary = "what is not in order, and what to do about it",
     .details = "Exits 0 when nothing is in the way; notes do not count.\n",
     .examples = "moulin doctor",
     .run = doctor},
    {.name = "down",
     .group = kGroup,
     .summary = "stop the server; workloads keep running",
     .examples = "moulin down",
     .run = down},
    {.name = "version",
     .group = kGroup,
     .summary = "of this program and of the server",
     .options = kVersionOptions,
     .examples = "moulin version\nmoulin --version",
     .run = version},
};

}  // namespace

std::span<const Verb> server_verbs() { return kVerbs; }

}  // namespace moulin::cli
