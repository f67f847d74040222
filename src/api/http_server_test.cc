#include "api/http_server.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "api/http_client.h"
#include "api/raw_connection.h"

namespace moulin {
namespace {

std::unique_ptr<HttpServer> serve(HttpServerOptions options, HttpHandler handler) {
  if (!options.tcp && options.unix_path.empty()) options.tcp = TcpAddress{};
  Result<std::unique_ptr<HttpServer>> server = HttpServer::start(std::move(options), std::move(handler));
  REQUIRE(server.has_value());
  return std::move(*server);
}

void echo(Request request, Responder responder) {
  std::string text = fmt::format("{}", to_text(request.method));
  for (const std::string& segment : request.segments) text += " " + segment;
  responder.answer({.content_type = "text/plain", .body = text + " " + request.body});
}

std::string get(std::string_view path) { return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path); }

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

}  // namespace

TEST_CASE("a connection is kept, and pipelined requests are answered in order") {
  const auto server = serve({}, echo);
  RawConnection client(server->port());
  std::string many;
  for (int i = 0; i < 200; ++i) many += get(fmt::format("/n/{}", i));
  REQUIRE(client.send(many));
  for (int i = 0; i < 200; ++i) CHECK(body_of(client.read_answer()) == fmt::format("GET n {} ", i));
  CHECK(client.send("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"));
  const std::string last = client.read_to_end();
  CHECK(last.find("Connection: close") != std::string::npos);
  CHECK(body_of(last) == "POST x hi");
  CHECK(server->counters().connections_accepted == 1);
  CHECK(server->counters().requests == 201);
}

TEST_CASE("HEAD has the length and not the body; HTTP/1.0 closes unless asked") {
  const auto server = serve({}, echo);
  RawConnection client(server->port());
  REQUIRE(client.send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/b")));
  const std::string head = client.read_until("\r\n\r\n");
  CHECK(head.find("Content-Length: 6\r\n") != std::string::npos);
  CHECK(body_of(client.read_answer()) == "GET b ");
  RawConnection old(server->port());
  REQUIRE(old.send("GET /c HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  CHECK(body_of(old.read_to_end()) == "GET c ");
}

TEST_CASE("a client that asks first hears 100 and then sends its body") {
  const auto server = serve({}, echo);
  RawConnection client(server->port());
  REQUIRE(client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  REQUIRE(client.send("ok"));
  CHECK(body_of(client.read_answer()) == "POST a ok");
}

TEST_CASE("an answer may come from another thread, and pipelined ones still come in order") {
  std::mutex mutex;
  std::vector<std::thread> threads;
  {
    const auto server = serve({}, [&](Request request, Responder responder) {
      const std::lock_guard lock(mutex);
      threads.emplace_back([request = std::move(request), responder = std::move(responder)]() mutable {
        echo(std::move(request), std::move(responder));
      });
    });
    RawConnection client(server->port());
    REQUIRE(client.send(get("/1") + get("/2") + get("/3")));
    for (const char* body : {"GET 1 ", "GET 2 ", "GET 3 "}) CHECK(body_of(client.read_answer()) == body);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a handler that drops its responder or throws answers 500, and the server goes on") {
  std::string reported;
  HttpServerOptions options{.report = [&](std::string_view text) { reported = text; }};
  const auto server = serve(std::move(options), [](Request request, Responder responder) {
    if (request.segments.front() == "drop") return;
    if (request.segments.front() == "throw") throw std::runtime_error("a stray one");
    echo(std::move(request), std::move(responder));
  });
  RawConnection client(server->port());
  REQUIRE(client.send(get("/drop") + get("/throw") + get("/fine")));
  for (const int status : {500, 500, 200}) {
    const std::string answer = client.read_answer();
    CHECK(status_of(answer) == status);
    if (status == 500) CHECK(answer.find("application/problem+json") != std::string::npos);
  }
  CHECK(reported.find("a stray one") != std::string::npos);
}

TEST_CASE("a client that goes while its request is handled does no harm") {
  std::promise<Responder> held;
  const auto server = serve({}, [&](Request request, Responder responder) {
    if (request.segments.front() == "hold") return held.set_value(std::move(responder));
    echo(std::move(request), std::move(responder));
  });
  auto leaving = std::make_unique<RawConnection>(server->port());
  REQUIRE(leaving->send(get("/hold")));
  Responder responder = held.get_future().get();
  const linger at_once{.l_onoff = 1, .l_linger = 0};  // the close is a reset
  ::setsockopt(leaving->socket().number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  leaving.reset();
  RawConnection staying(server->port());
  REQUIRE(staying.send(get("/a")));
  CHECK(body_of(staying.read_answer()) == "GET a ");
  responder.answer({.body = "{}"});
  REQUIRE(staying.send(get("/b")));
  CHECK(body_of(staying.read_answer()) == "GET b ");
}

TEST_CASE("a client that closes only its sending half still gets its answer") {
  std::promise<Responder> held;
  const auto server = serve({}, [&](Request, Responder responder) { held.set_value(std::move(responder)); });
  RawConnection client(server->port());
  REQUIRE(client.send(get("/a")));
  client.end_sending();
  Responder responder = held.get_future().get();
  responder.answer({.body = "late"});
  CHECK(body_of(client.read_to_end()) == "late");
}

TEST_CASE("foreign hosts, foreign pages and bad targets are refused before the handler") {
  std::atomic<int> handled = 0;
  const auto server = serve({.base_path = "moulin"}, [&](Request request, Responder responder) {
    handled += 1;
    echo(std::move(request), std::move(responder));
  });
  const auto ask = [&](const std::string& bytes) {
    RawConnection client(server->port());
    client.send(bytes);
    return status_of(client.read_to_end());
  };
  CHECK(ask("GET /moulin/a HTTP/1.1\r\nHost: evil.example\r\n\r\n") == 403);
  CHECK(ask("GET /moulin/a HTTP/1.1\r\n\r\n") == 400);
  CHECK(
      ask("POST /moulin/a HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:2\r\nContent-Length: 0\r\n\r\n") ==
      403);
  CHECK(ask("DELETE /moulin/a HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n") == 403);
  CHECK(ask("GET /moulin/../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400);
  CHECK(ask("GET /moulin/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400);
  CHECK(ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n") == 404);
  CHECK(ask("BREW /moulin/a HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n") == 403);
  CHECK(ask("\r\n\r\n\r\n") == 400);
  // No page of another site opens what it could then read and write.
  CHECK(ask("GET /moulin/a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Origin: http://evil.example\r\n\r\n") == 403);
  CHECK(handled == 0);
  CHECK(server->counters().refusals == 10);
  CHECK(ask("GET /moulin/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://evil.example\r\n\r\n") ==
        200);
}

TEST_CASE("a UNIX socket serves too, knows its peer, and its file belongs to us alone") {
  const std::string folder = fmt::format("/tmp/moulin_socket_{}_{}", ::getpid(), std::string(120, 'x'));
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  const std::string path = folder + "/socket";
  std::optional<int64_t> user;
  {
    const auto server = serve({.unix_path = path}, [&](Request request, Responder responder) {
      user = request.peer.user_id;
      echo(std::move(request), std::move(responder));
    });
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    HttpClient client(*parse_endpoint("unix:" + path), {});
    CHECK(client.send({.path = "/a"})->body == "GET a ");
    CHECK(user == static_cast<int64_t>(::getuid()));
    const auto second = HttpServer::start({.unix_path = path}, echo);
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().code == Code::kConflict);
    // Left by a server that died: the name is there and nobody listens.
    CHECK(::rename(path.c_str(), (path + "2").c_str()) == 0);
  }
  CHECK(::rename((path + "2").c_str(), path.c_str()) == 0);
  CHECK(HttpServer::start({.unix_path = path}, echo).has_value());
  ::rmdir(folder.c_str());
}

TEST_CASE("a port in use and an address beyond this machine are refused in words") {
  const auto server = serve({}, echo);
  const auto second = HttpServer::start({.tcp = TcpAddress{.port = server->port()}}, echo);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::kConflict);
  CHECK(second.error().to_do.find("--listen") != std::string::npos);
  const auto open = HttpServer::start({.tcp = TcpAddress{.host = "0.0.0.0"}}, echo);
  REQUIRE_FALSE(open.has_value());
  CHECK(open.error().code == Code::kRefused);
}

TEST_CASE("stopping lets a running request finish and closes idle connections") {
  std::promise<Responder> held;
  auto server = serve({}, [&](Request request, Responder responder) {
    if (request.segments.front() == "hold") return held.set_value(std::move(responder));
    echo(std::move(request), std::move(responder));
  });
  RawConnection idle(server->port());
  REQUIRE(idle.send(get("/a")));
  (void)idle.read_answer();
  RawConnection busy(server->port());
  REQUIRE(busy.send(get("/hold")));
  Responder responder = held.get_future().get();
  std::thread stopping([&] { server->stop(minutes(5)); });
  CHECK(idle.read_to_end().empty());  // closed by the drain, so the drain has begun
  responder.answer({.body = "last words"});
  CHECK(body_of(busy.read_to_end()) == "last words");
  // The client hangs up too: nothing is left to wait for.
  { const RawConnection gone = std::move(busy); }
  stopping.join();
  CHECK(server->counters().connections_open == 0);
}

TEST_CASE("stopping without grace cuts off what runs, and late answers go nowhere") {
  std::promise<Responder> held;
  auto server = serve({}, [&](Request, Responder responder) { held.set_value(std::move(responder)); });
  RawConnection client(server->port());
  REQUIRE(client.send(get("/hold")));
  Responder responder = held.get_future().get();
  server.reset();
  CHECK(client.read_to_end().empty());
  responder.answer({.body = "too late"});
}

}  // namespace moulin
