#include "api/api_client.h"

#include <doctest/doctest.h>

#include "api/http_server.h"
#include "api/problem.h"

namespace moulin {
namespace {

// Answers from the contract, as the real server does, for a few operations.
Response handle(const Request& request) {
  const auto match = wire::match_route(wire::routes(), request);
  if (!match) return match.error();
  if (match->operation == wire::Operation::kCreateUser) {
    const Result<wire::NewUser> user = wire::read_body<wire::NewUser>(request);
    if (!user) return problem_response(user.error());
    return {.status = 201, .body = write_json(wire::write(wire::User{.name = user->name, .created = WallTime{7}}))};
  }
  if (match->operation == wire::Operation::kRemoveUser) return {.status = 204};
  if (match->operation == wire::Operation::kListUsers) return {.body = "no JSON"};
  return problem_response({.code = Code::kNotFound, .message = "not in this test"});
}

std::unique_ptr<HttpServer> serve() {
  auto started = HttpServer::start({.tcp = TcpAddress{}}, [](Request request, Responder responder) {
    if (request.segments.back() != "events") return responder.answer(handle(request));
    EventStream stream = responder.start_stream(StreamForm::kEvents);
    for (int i = 1; i <= 3; ++i) stream.send({.id = std::to_string(i), .data = "{}"});
  });
  REQUIRE(started.has_value());
  return std::move(*started);
}

}  // namespace

TEST_CASE("operations go there and back as types") {
  const auto server = serve();
  ApiClient api(HttpClient(*parse_endpoint(server->url()), {}));
  const auto user = api.ask(wire::CreateUser{}, {.name = "ada"});
  REQUIRE(user.has_value());
  CHECK(user->name == "ada");
  CHECK(user->created == WallTime{7});
  CHECK(api.ask(wire::RemoveUser{.user = "ada"}).has_value());
  CHECK(api.ask(wire::WhoAmI{}).error().message == "not in this test");
  CHECK(api.ask(wire::CreateUser{}, {.name = ""}).error().field == "name");
  CHECK(api.ask(wire::ListUsers{}).error().code == Code::kInternal);
}

TEST_CASE("a stream of events can be stopped after any event") {
  const auto server = serve();
  ApiClient api(HttpClient(*parse_endpoint(server->url()), {}));
  std::string seen;
  const auto all = api.stream(wire::write_parameters(wire::StreamEvents{}), [&](const StreamEvent& event) {
    seen += event.id;
    return Flow::kContinue;
  });
  REQUIRE(all.has_value());
  CHECK(*all == StreamEnd::kFinished);
  CHECK(seen == "123");
  const auto one =
      api.stream(wire::write_parameters(wire::StreamEvents{}), [&](const StreamEvent&) { return Flow::kStop; });
  CHECK(one.has_value());
}

}  // namespace moulin
