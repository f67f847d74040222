// Each limit of HttpLimits against a client that crosses it. Times are small and the
// tests wait for the close that must come, never for time to pass.
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "api/http_server.h"
#include "api/raw_connection.h"

namespace moulin {
namespace {

std::unique_ptr<HttpServer> serve(const HttpLimits& limits, HttpHandler handler) {
  auto server = HttpServer::start({.tcp = TcpAddress{}, .limits = limits}, std::move(handler));
  REQUIRE(server.has_value());
  return std::move(*server);
}

void answer_ok(Request, Responder responder) { responder.answer({.body = "{}"}); }

const std::string kHead = "GET / HTTP/1.1\r\nHost: localhost\r\n";

bool has_status(const std::string& answer, int status) {
  return answer.starts_with(fmt::format("HTTP/1.1 {} ", status));
}

}  // namespace

TEST_CASE("a body of a gigabyte is refused by its announcement") {
  std::atomic<int> handled = 0;
  const auto server = serve({}, [&](Request, Responder responder) {
    handled += 1;
    responder.answer({});
  });
  RawConnection client(server->port());
  REQUIRE(client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n"));
  const std::string answer = client.read_answer();
  CHECK(has_status(answer, 413));
  CHECK(answer.find("\"allowed\":\"at most 1MiB\"") != std::string::npos);
  CHECK(answer.find("1073741824") != std::string::npos);
  CHECK(handled == 0);
}

TEST_CASE("a client that pushes its gigabyte all the same is cut off after a while") {
  const auto server = serve({.body = kibibytes(16)}, answer_ok);
  RawConnection client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = fmt::format("10000\r\n{}\r\n", std::string(65536, 'x'));
  int sent = 0;
  while (sent < 16384 && client.send(piece)) ++sent;
  CHECK(sent < 16384);
}

TEST_CASE("a hundred thousand headers are refused before they have all come") {
  const auto server = serve({}, answer_ok);
  RawConnection client(server->port());
  std::string bytes = kHead;
  for (int i = 0; i < 100'000; ++i) bytes += fmt::format("X-{}: 1\r\n", i);
  client.send(bytes + "\r\n");
  CHECK(has_status(client.read_to_end(), 431));
  RawConnection large(server->port());
  large.send(kHead + "X: " + std::string(100'000, 'x') + "\r\n\r\n");
  CHECK(has_status(large.read_to_end(), 431));
}

TEST_CASE("a header or a body that trickles in for ever is closed") {
  const auto server = serve({.header = mebibytes(256), .request_time = milliseconds(30)}, answer_ok);
  RawConnection header(server->port());
  REQUIRE(header.send("GET / HT"));
  CHECK(header.read_to_end().empty());
  RawConnection body(server->port());
  REQUIRE(body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"));
  CHECK(body.read_to_end().empty());
  RawConnection steady(server->port());
  REQUIRE(steady.send(kHead + "X: "));
  while (steady.send("x") && !steady.timed_out()) {  // each byte in time, all together not
  }
  CHECK_FALSE(steady.timed_out());
  CHECK(server->counters().timeouts == 3);
}

TEST_CASE("an idle connection is closed, before and after a request") {
  const auto server = serve({.idle_time = milliseconds(30)}, answer_ok);
  RawConnection silent(server->port());
  CHECK(silent.read_to_end().empty());
  RawConnection client(server->port());
  REQUIRE(client.send(kHead + "\r\n"));
  CHECK(has_status(client.read_to_end(), 200));
  CHECK(server->counters().timeouts == 2);
}

TEST_CASE("a reader that stalls is closed") {
  const auto server = serve({.write_stall = milliseconds(50)}, [](Request, Responder responder) {
    responder.answer({.body = std::string(64 << 20, 'x')});
  });
  RawConnection client(server->port());
  REQUIRE(client.send(kHead + "\r\n"));
  // Nothing is read until the server has given up; then the answer is incomplete.
  while (server->counters().timeouts == 0) std::this_thread::yield();
  CHECK(client.read_to_end().size() < (64U << 20));
}

TEST_CASE("a handler that never answers is answered for") {
  std::promise<Responder> held;
  const auto server = serve({.answer_time = milliseconds(30)},
                            [&](Request, Responder responder) { held.set_value(std::move(responder)); });
  RawConnection client(server->port());
  REQUIRE(client.send(kHead + "\r\n"));
  CHECK(has_status(client.read_to_end(), 503));
  held.get_future().get().answer({.body = "late"});
}

TEST_CASE("one connection too many is told so") {
  const auto server = serve({.connections = 2}, answer_ok);
  RawConnection first(server->port());
  RawConnection second(server->port());
  RawConnection third(server->port());
  REQUIRE(third.send(kHead + "\r\n"));
  CHECK(has_status(third.read_answer(), 503));
  REQUIRE(first.send(kHead + "\r\n"));
  CHECK(has_status(first.read_answer(), 200));
  CHECK(server->counters().connections_refused == 1);
}

TEST_CASE("bodies and answers together take no more memory than allowed") {
  std::promise<Responder> held;
  std::atomic<int> handled = 0;
  const auto server = serve({.body = {1000}, .buffered = {1500}}, [&](Request, Responder responder) {
    if (++handled == 1) return held.set_value(std::move(responder));
    responder.answer({.body = "{}"});
  });
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\n";
  const std::string body(1000, 'x');
  RawConnection first(server->port());
  REQUIRE(first.send(post + "Content-Length: 1000\r\n\r\n" + body));
  Responder late = held.get_future().get();
  CHECK(server->counters().buffered_bytes == 1000);
  RawConnection second(server->port());
  REQUIRE(second.send(post + "Content-Length: 501\r\n\r\n"));
  const std::string refused = second.read_to_end();
  CHECK(has_status(refused, 429));
  CHECK(refused.find("Retry-After: 1") != std::string::npos);
  RawConnection unsized(server->port());
  REQUIRE(unsized.send(post + "Transfer-Encoding: chunked\r\n\r\n"));  // may become 1000
  CHECK(has_status(unsized.read_to_end(), 429));
  RawConnection third(server->port());
  REQUIRE(third.send(kHead + "\r\n"));
  CHECK(has_status(third.read_answer(), 200));
  late.answer({.body = "{}"});
  CHECK(has_status(first.read_answer(), 200));
  REQUIRE(first.send(post + "Content-Length: 1000\r\n\r\n" + body));
  CHECK(has_status(first.read_answer(), 200));
}

TEST_CASE("a client that pipelines without reading is held back, not buffered") {
  std::promise<Responder> held;
  std::atomic<int> handled = 0;
  const auto server = serve({.request_time = minutes(5)}, [&](Request, Responder responder) {
    handled += 1;
    if (handled == 1) return held.set_value(std::move(responder));
    responder.answer({.body = "{}"});
  });
  RawConnection client(server->port());
  std::string many;
  for (int i = 0; i < 2000; ++i) many += kHead + "\r\n";
  REQUIRE(client.send(many));
  held.get_future().get().answer({.body = "{}"});
  for (int i = 0; i < 2000; ++i) REQUIRE(has_status(client.read_answer(), 200));
  CHECK(handled == 2000);
}

}  // namespace moulin
