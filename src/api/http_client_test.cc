#include "api/http_client.h"

#include <doctest/doctest.h>

#include <atomic>

#include "api/http_server.h"
#include "api/problem.h"

namespace moulin {
namespace {

std::unique_ptr<HttpServer> serve(HttpServerOptions options, HttpHandler handler) {
  options.tcp = TcpAddress{};
  auto server = HttpServer::start(std::move(options), std::move(handler));
  REQUIRE(server.has_value());
  return std::move(*server);
}

}  // namespace

TEST_CASE("what is asked arrives as it was meant") {
  Request seen;
  const auto server = serve({.base_path = "/moulin"}, [&](Request request, Responder responder) {
    seen = request;
    responder.answer({.status = 201, .headers = {{"Location", "/x"}}, .body = R"({"id":"w-1"})"});
  });
  HttpClient client(*parse_endpoint(server->url()), {.token = "secret"});
  const auto answer = client.send({.method = Method::kPost,
                                   .path = "/api/v1/a%20b",
                                   .query = {{"tag", "a=b&c"}, {"name", "ü +"}},
                                   .headers = {{"Idempotency-Key", "k"}},
                                   .body = "{}"});
  REQUIRE(answer.has_value());
  CHECK(answer->status == 201);
  CHECK(answer->body == R"({"id":"w-1"})");
  CHECK(*find_header(answer->headers, "location") == "/x");
  CHECK(seen.method == Method::kPost);
  CHECK(seen.segments == std::vector<std::string>{"api", "v1", "a b"});
  CHECK(seen.query == std::vector<QueryItem>{{"tag", "a=b&c"}, {"name", "ü +"}});
  CHECK(*find_header(seen.headers, "authorization") == "Bearer secret");
  CHECK(*find_header(seen.headers, "idempotency-key") == "k");
  CHECK(seen.body == "{}");
  CHECK(client.send({.path = "/"}).has_value());
  CHECK(server->counters().connections_accepted == 1);
}

TEST_CASE("an error of the server comes out as it went in") {
  const Error error{.code = Code::kNotFound, .message = "no workload w-1", .to_do = "run `moulin ps`"};
  const auto server = serve({}, [&](Request, Responder responder) { responder.answer(problem_response(error)); });
  HttpClient client(*parse_endpoint(server->url()), {});
  const auto answer = successful(client.send({.path = "/"}));
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error() == error);
  const auto stream = client.stream({.path = "/"}, [](std::string_view) { return Flow::kContinue; });
  REQUIRE_FALSE(stream.has_value());
  CHECK(stream.error() == error);
}

TEST_CASE("a kept connection that was closed is opened again for what may be repeated") {
  const auto server = serve({.limits = {.idle_time = milliseconds(20)}},
                            [](Request, Responder responder) { responder.answer({.body = "{}"}); });
  HttpClient client(*parse_endpoint(server->url()), {});
  CHECK(client.send({.path = "/"}).has_value());
  while (server->counters().connections_open > 0) {  // the idle time of the server passes
  }
  CHECK(client.send({.path = "/"}).has_value());
  while (server->counters().connections_open > 0) {}
  const auto post = client.send({.method = Method::kPost, .path = "/", .body = "{}"});
  REQUIRE_FALSE(post.has_value());
  CHECK(post.error().code == Code::kUnavailable);
  CHECK(client.send({.method = Method::kPost, .path = "/", .body = "{}"}).has_value());
}

TEST_CASE("no server, a silent server and a huge answer are told apart") {
  HttpClient nobody(*parse_endpoint("unix:/nonexistent/socket"), {});
  CHECK(nobody.send({.path = "/"}).error().code == Code::kUnavailable);
  std::optional<Responder> held;
  const auto server = serve({}, [&](Request request, Responder responder) {
    if (request.segments.empty()) {
      held.emplace(std::move(responder));
    } else {
      responder.answer({.body = std::string(100'000, 'x')});
    }
  });
  HttpClient impatient(*parse_endpoint(server->url()), {.answer_time = milliseconds(20)});
  CHECK(impatient.send({.path = "/"}).error().message.find("in time") != std::string::npos);
  HttpClient small(*parse_endpoint(server->url()), {.answer = Bytes{1000}});
  CHECK(small.send({.path = "/large"}).error().code == Code::kTooLarge);
  held.reset();
}

TEST_CASE("a refusal in the middle of a large upload is heard") {
  const auto server = serve({}, [](Request, Responder responder) { responder.answer({}); });
  HttpClient client(*parse_endpoint(server->url()), {});
  const auto answer =
      successful(client.send({.method = Method::kPost, .path = "/", .body = std::string(4 << 20, 'x')}));
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Code::kTooLarge);
}

TEST_CASE("addresses of servers") {
  CHECK(to_text(*parse_endpoint("http://127.0.0.1:8080/moulin/")) == "http://127.0.0.1:8080/moulin");
  CHECK(to_text(*parse_endpoint("http://[::1]:8080")) == "http://[::1]:8080");
  CHECK(to_text(*parse_endpoint("http://localhost")) == "http://localhost:80");
  CHECK(to_text(*parse_endpoint("unix:/run/moulin")) == "unix:/run/moulin");
  for (const char* url : {"", "127.0.0.1:80", "https://localhost", "http://", "http://evil.example",
                          "http://localhost:x", "http://user@localhost"}) {
    CAPTURE(url);
    CHECK_FALSE(parse_endpoint(url).has_value());
  }
}

}  // namespace moulin
