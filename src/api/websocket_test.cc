#include "api/websocket.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "api/http_server.h"
#include "api/problem.h"
#include "api/raw_connection.h"

namespace moulin {
namespace {

// A server that does as it is told with each WebSocket: unless told otherwise it says back
// what it hears, and "bye" says good-bye.
class EchoServer {
 public:
  explicit EchoServer(std::function<void(WebSocket&)> live = echo) : live_(std::move(live)) {
    auto started = HttpServer::start({.tcp = TcpAddress{}}, [this](Request request, Responder responder) {
      Status good = WebSocket::check(request);
      if (!good) return responder.answer(problem_response(good.error()));
      responder.take_over([this, request = std::move(request)](TakenOver connection) {
        auto shared = std::make_shared<TakenOver>(std::move(connection));
        threads_.emplace_back([this, shared, request] {
          auto accepted = WebSocket::accept(std::move(*shared), request);
          if (accepted) live_(**accepted);
        });
      });
    });
    REQUIRE(started.has_value());
    server_ = std::move(*started);
  }
  ~EchoServer() {
    server_.reset();
    for (std::thread& thread : threads_) thread.join();
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  std::string url() const { return server_->url(); }
  Endpoint endpoint() const { return *parse_endpoint(server_->url()); }

 private:
  static void echo(WebSocket& socket) {
    socket.on_message = [&](WebSocket::Kind kind, std::string_view bytes) {
      if (bytes == "bye") return socket.close();
      socket.send(kind, std::string(bytes));
    };
    socket.run();
  }

  const std::function<void(WebSocket&)> live_;
  std::vector<std::thread> threads_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

TEST_CASE("messages go both ways whole and in order, and good-bye is said") {
  EchoServer server;
  auto socket = WebSocket::connect(server.endpoint(), "/somewhere?a=b", "token").value();
  std::vector<std::string> heard;
  socket->on_message = [&](WebSocket::Kind kind, std::string_view bytes) {
    heard.emplace_back(bytes);
    CHECK(kind == (heard.size() == 1 ? WebSocket::Kind::kText : WebSocket::Kind::kBinary));
    if (heard.size() == 3) socket->send(WebSocket::Kind::kText, "bye");
  };
  std::string large(WebSocket::kMessageMax, '\0');
  socket->send(WebSocket::Kind::kText, "text");
  socket->send(WebSocket::Kind::kBinary, large);
  socket->send(WebSocket::Kind::kBinary, "end");
  CHECK(socket->run().empty());
  CHECK(heard == std::vector<std::string>{"text", large, "end"});
}

TEST_CASE("a message that is too large breaks the connection, and a reason is given") {
  EchoServer server;
  auto socket = WebSocket::connect(server.endpoint(), "/", "").value();
  socket->send(WebSocket::Kind::kBinary, std::string(WebSocket::kMessageMax + 1, 'x'));
  bool heard = false;
  socket->on_message = [&](WebSocket::Kind, std::string_view) { heard = true; };
  CHECK_FALSE(socket->run().empty());
  CHECK_FALSE(heard);
}

TEST_CASE("another descriptor is waited for beside the messages") {
  EchoServer server;
  auto socket = WebSocket::connect(server.endpoint(), "/", "").value();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::string said;
  socket->when(ends[0], WebSocket::Wait::kReadable, [&] { socket->send(WebSocket::Kind::kText, "from the pipe"); });
  socket->on_message = [&](WebSocket::Kind, std::string_view bytes) {
    said = bytes;
    socket->close();
  };
  REQUIRE(::write(ends[1], "x", 1) == 1);
  CHECK(socket->run().empty());
  CHECK(said == "from the pipe");
  ::close(ends[0]);
  ::close(ends[1]);
}

// To look at an object that is thrown the undefined sanitizer needs a pipe, and without one it
// takes the object for a wrong one.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define MOULIN_NEEDS_DESCRIPTORS true
#endif
#endif
#ifndef MOULIN_NEEDS_DESCRIPTORS
#define MOULIN_NEEDS_DESCRIPTORS false
#endif

TEST_CASE("with no descriptor left no socket is made, and one that needs more ends with a reason" *
          doctest::skip(MOULIN_NEEDS_DESCRIPTORS)) {
  EchoServer server;
  auto socket = WebSocket::connect(server.endpoint(), "/", "").value();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;  // what is open stays
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  TakenOver connection;
  auto accepted = WebSocket::accept(std::move(connection), {});
  socket->when(0, WebSocket::Wait::kReadable, [] {});
  std::string why = socket->run();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(accepted.has_value());
  CHECK(accepted.error().code == Code::kUnavailable);
  CHECK(why.contains("cannot be waited for"));
}

TEST_CASE("who hangs up is noticed also while nothing is read, whatever is on its way") {
  for (std::string_view rest : {"", "and what is never read"}) {
    std::string why;
    {
      EchoServer server([&why](WebSocket& socket) {
        socket.read_on(WebSocket::Reading::kHeld);
        why = socket.run();
      });
      auto socket = WebSocket::connect(server.endpoint(), "/", "").value();
      if (!rest.empty()) socket->send(WebSocket::Kind::kBinary, std::string(rest));
      socket->on_beat = [&] { socket->stop(); };  // after it was sent, and without good-bye
      socket->beat = milliseconds(20);
      socket->run();
    }
    CHECK(why == "the other side has hung up");
  }
}

TEST_CASE("silence is no end: both say that they are there, and limits to time are kept by the beat") {
  constexpr int kBeats = 20;
  EchoServer server([beats = 0](WebSocket& socket) mutable {
    socket.beat = milliseconds(1);
    socket.on_beat = [&] {
      if (++beats == kBeats) socket.close();
    };
    socket.run();
  });
  auto socket = WebSocket::connect(server.endpoint(), "/", "").value();
  socket->beat = milliseconds(1);
  CHECK(socket->run().empty());
}

TEST_CASE("a request that asks for no WebSocket is answered, and a server that has none is told of") {
  EchoServer server;
  Response plain = HttpClient(server.endpoint(), {}).send({.path = "/"}).value();
  CHECK(plain.status == 400);
  CHECK(plain.body.contains("Upgrade"));

  auto refusing = HttpServer::start({.tcp = TcpAddress{}}, [](Request, Responder responder) {
    responder.answer(problem_response({.code = Code::kConflict, .message = "not now", .field = "replica"}));
  });
  REQUIRE(refusing.has_value());
  auto refused = WebSocket::connect(*parse_endpoint((*refusing)->url()), "/", "");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::kConflict);
  CHECK(refused.error().message.contains("not now"));
}

}  // namespace moulin
