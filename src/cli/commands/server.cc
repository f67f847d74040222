// doctor, down, version; and the verbs of main, for the help.
#include <fmt/format.h>

#include "cli/commands/groups.h"
#include "cli/render/server.h"
#include "cli/session.h"
#include "cli/table.h"

namespace moulin {

namespace {

constexpr std::string_view kGroup = "Server";
constexpr Duration kDownPause = milliseconds(50);
constexpr int kDownLooksMax = 600;  // 30 seconds

Result<int> doctor(Session& session) {
  Console& console = session.console();
  const Access* access = TRY(session.access());
  Result<wire::Server> server = session.ask(wire::ShowServer{});
  if (console.is_json()) {
    Json answer = Json::object({{"server_at", to_text(access->endpoint)},
                                {"server_from", access->server_from},
                                {"token_from", access->token_from.empty() ? Json() : Json(access->token_from)},
                                {"server", server ? wire::write(*server) : Json()}});
    console.print_json(answer);
  } else {
    Facts facts;
    facts.add("server at", to_text(access->endpoint));
    facts.add("token from", access->token_from.empty() ? "nowhere" : access->token_from);
    console.print(facts.text(console.view()));
  }
  wire::Server answer = TRY(std::move(server));
  if (!console.is_json()) console.print(render_server(answer, console.view()));
  return answer.accepts_commands ? 0 : exit_status(Code::kUnavailable);
}

// The server answers as long as it lives; it has gone when nobody does.
Result<int> down(Session& session) {
  std::unique_ptr<Interrupts> interrupts = session.surroundings().hold_interrupts();
  TRY(session.ask(wire::StopServer{}));
  for (int look = 0; look < kDownLooksMax; ++look) {
    std::unique_ptr<ApiClient> api = TRY(session.connect(-1));
    Result<wire::Health> health = api->ask(wire::CheckHealth{});
    if (!health && health.error().code == Code::kUnavailable) {
      session.console().note("The server is down. Its workloads keep running; `moulin up` finds them again.");
      return 0;
    }
    if (interrupts->wait(kDownPause)) return 130;
  }
  return Error{.code = Code::kUnavailable,
               .message = "the server was asked to go down and still answers after 30 seconds",
               .to_do = "look at server.log in its data folder"};
}

Result<int> version(Session& session) {
  Result<wire::Server> server = session.ask(wire::ShowServer{});
  if (session.console().is_json()) {
    session.console().print_json(
        Json::object({{"version", MOULIN_VERSION}, {"server_version", server ? Json(server->version) : Json()}}));
    return 0;
  }
  session.console().print(fmt::format("moulin {}\n", MOULIN_VERSION));
  if (server) session.console().print(fmt::format("server {}\n", server->version));
  return 0;
}

constexpr Verb kVerbs[] = {
    {.name = "doctor",
     .group = kGroup,
     .summary = "where the server is, how it is, and what it cannot do",
     .run = doctor},
    {.name = "down", .group = kGroup, .summary = "stop the server; workloads keep running", .run = down},
    {.name = "version", .group = kGroup, .summary = "of this program and of the server", .run = version},
};

constexpr Verb kMainVerbs[] = {
    {.name = "up", .group = "Start here", .summary = "serve this machine"},
};

constexpr Verb kJournalVerbs[] = {
    {.name = "journal", .group = kGroup, .summary = "verify or count the record of all that happened"},
};

}  // namespace

std::span<const Verb> server_verbs() { return kVerbs; }
std::span<const Verb> main_verbs() { return kMainVerbs; }
std::span<const Verb> journal_verbs() { return kJournalVerbs; }

}  // namespace moulin
