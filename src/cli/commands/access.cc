// login, logout, whoami.
#include "cli/access.h"

#include <fmt/format.h>

#include "cli/commands/groups.h"
#include "cli/login.h"
#include "cli/render/identity.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Access";
constexpr size_t kTokenBytesMax = 4096;

// --url, else what is set here, else the server before, else the usual one of this machine.
Result<Endpoint> wanted_server(const Session& session) {
  const Surroundings& surroundings = session.surroundings();
  if (const std::string* url = session.call().value("url")) return endpoint_from(*url, "--url");
  if (std::string url = surroundings.variable("MOULIN_URL"); !url.empty()) return endpoint_from(url, "MOULIN_URL");
  if (std::string folder = surroundings.variable("MOULIN_DATA"); !folder.empty()) {
    return Endpoint{.address = folder + "/moulin.sock"};
  }
  Result<std::optional<Login>> before = read_login(surroundings);
  if (before && *before) return endpoint_from((*before)->url, login_file(surroundings));
  return Endpoint{.address = TcpAddress{.host = "127.0.0.1", .port = kUsualPort}};
}

// Typed without echo by a person, else the first line of standard input: never an argument,
// which other users of the machine could see.
Result<std::string> wanted_token(Session& session, const Endpoint& server) {
  const Surroundings& surroundings = session.surroundings();
  if (session.console().has_person()) {
    std::unique_ptr<Interrupts> interrupts = surroundings.hold_interrupts();
    return clean_token(surroundings.ask_secret(fmt::format("Token for {}: ", to_text(server)), *interrupts),
                       "the token");
  }
  std::string text = TRY(surroundings.read_file("-", kTokenBytesMax));
  return clean_token(text.substr(0, text.find('\n')), "standard input");
}

Result<wire::Myself> ask_who_i_am(const Endpoint& server, const std::string& token) {
  ApiClient api(HttpClient(server, {.token = token}));
  Result<wire::Myself> myself = api.ask(wire::WhoAmI{});
  if (myself) return myself;
  Error error = std::move(myself).error();
  if (error.code == Code::kUnauthenticated) {
    error.given = "";
    error.to_do = "ask an administrator for one: moulin token create --user YOU";
  }
  if (error.code == Code::kUnavailable && error.to_do.empty()) {
    error.message = fmt::format("no server answers at {} ({})", to_text(server), error.message);
    error.to_do = "name the right one with --url, or start one with `moulin up`";
  }
  return error;
}

// Settings that come before a login, so that nobody wonders why it has no effect.
void warn_of_settings(Session& session) {
  for (std::string_view name : {"MOULIN_URL", "MOULIN_DATA", "MOULIN_TOKEN", "MOULIN_TOKEN_FILE"}) {
    if (session.surroundings().variable(name).empty()) continue;
    session.console().note(fmt::format("{} is set and comes before the login; unset it to use the login.", name));
  }
}

Result<int> login(Session& session) {
  Endpoint server = TRY(wanted_server(session));
  std::string token = TRY(wanted_token(session, server));
  wire::Myself myself = TRY(ask_who_i_am(server, token));
  TRY(write_login(session.surroundings(), {.url = to_text(server), .token = token}));
  std::string file = login_file(session.surroundings());
  if (session.console().is_json()) {
    session.console().print_json(Json::object({{"url", to_text(server)}, {"user", myself.user}, {"file", file}}));
    return 0;
  }
  session.console().print(fmt::format("You are {} at {}. Kept in {}.\n", myself.user, to_text(server), file));
  if (myself.roles.empty()) {
    session.console().note("You have no role yet: an administrator gives one with `moulin role grant`.");
  }
  warn_of_settings(session);
  return 0;
}

Result<int> logout(Session& session) {
  const Surroundings& surroundings = session.surroundings();
  std::string file = login_file(surroundings);
  if (file.empty()) return Error{.code = Code::kNotFound, .message = "there is no place where a login could be"};
  Status removed = surroundings.remove_file(file);
  bool was_there = removed.has_value();
  if (!removed && removed.error().code != Code::kNotFound) return removed.error();
  if (session.console().is_json()) {
    session.console().print_json(Json::object({{"file", file}, {"was_logged_in", was_there}}));
  } else if (was_there) {
    session.console().print("Logged out. The token stays valid: `moulin token revoke` ends it.\n");
  } else {
    session.console().print("You were not logged in.\n");
  }
  return 0;
}

Result<int> whoami(Session& session) {
  wire::Myself myself = TRY(session.ask(wire::WhoAmI{}));
  const Access* access = TRY(session.access());
  if (session.console().is_json()) {
    Json answer = wire::write(myself);
    answer.set("server_at", to_text(access->endpoint));
    answer.set("server_from", access->server_from);
    answer.set("token_from", access->token_from);
    session.console().print_json(answer);
    return 0;
  }
  Whereabouts where{
      .server = to_text(access->endpoint), .server_from = access->server_from, .token_from = access->token_from};
  session.console().print(render_myself(myself, where, session.console().view()));
  return 0;
}

constexpr OptionSpec kLoginOptions[] = {
    {.name = "url", .value = "URL", .help = "the server (unless given: $MOULIN_URL, the one before, or this machine)"}};

constexpr std::string_view kLoginDetails =
    "Keeps the server and your token in ~/.config/moulin/login.json, which only you can read.\n"
    "The token is asked for, or read from standard input; it is no option, because others\n"
    "can see those. Servers on other machines are reached through a tunnel:\n"
    "ssh -N -L 6468:127.0.0.1:6468 HOST\n";

constexpr Verb kVerbs[] = {
    {.name = "login",
     .group = kGroup,
     .summary = "keep a server and your token for all later calls",
     .options = kLoginOptions,
     .details = kLoginDetails,
     .examples = "moulin login\nmoulin login --url http://127.0.0.1:6468 < token.txt",
     .run = login},
    {.name = "logout", .group = kGroup, .summary = "forget them", .examples = "moulin logout", .run = logout},
    {.name = "whoami",
     .group = kGroup,
     .summary = "who you are, what you may, and at which server",
     .examples = "moulin whoami",
     .run = whoami},
};

}  // namespace

std::span<const Verb> access_verbs() { return kVerbs; }

}  // namespace moulin::cli
