// Event streams and plain streams: order, bounds, ends.
#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "api/event_reader.h"
#include "api/http_client.h"
#include "api/http_server.h"
#include "api/raw_connection.h"

namespace moulin {
namespace {

// A server whose every request becomes a stream that the test holds.
struct StreamServer {
  explicit StreamServer(const HttpLimits& limits = {}, StreamForm form = StreamForm::kEvents) {
    auto started = HttpServer::start(
        {.tcp = TcpAddress{}, .limits = limits},
        [this, form](Request, Responder responder) { streams.at(next++).set_value(responder.start_stream(form)); });
    REQUIRE(started.has_value());
    server = std::move(*started);
  }
  EventStream stream(size_t index = 0) { return streams.at(index).get_future().get(); }
  Endpoint endpoint() const { return *parse_endpoint(server->url()); }

  std::array<std::promise<EventStream>, 4> streams;
  size_t next = 0;
  std::unique_ptr<HttpServer> server;
};

const std::string kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

}  // namespace

TEST_CASE("events arrive whole and in order, from whatever thread") {
  StreamServer server;
  std::thread writer([&] {
    EventStream stream = server.stream();
    for (int i = 0; i < 5000; ++i) {
      const std::string number = std::to_string(i);
      if (!stream.send({.id = number, .type = "state", .data = "{\"n\":" + number + "}"})) return;
    }
  });
  int next = 0;
  EventReader reader([&](const StreamEvent& event) {
    CHECK(event.id == std::to_string(next));
    CHECK(event.type == "state");
    next += 1;
  });
  HttpClient client(server.endpoint(), {});
  const auto end = client.stream({.path = "/"}, [&](std::string_view piece) {
    REQUIRE(reader.feed(piece).has_value());
    return Flow::kContinue;
  });
  writer.join();
  REQUIRE(end.has_value());
  CHECK(*end == StreamEnd::kFinished);
  CHECK(next == 5000);
}

TEST_CASE("a consumer that is too slow is dropped, and the others are not") {
  StreamServer server({.stream_queue = kibibytes(64)});
  RawConnection slow(server.server->port());
  REQUIRE(slow.send(kGet));
  EventStream stream = server.stream();
  std::promise<void> closed;
  stream.when_closed([&] { closed.set_value(); });
  int sent = 0;
  while (stream.send({.data = std::string(8192, 'x')})) sent += 1;  // the kernel's buffers fill, then ours
  closed.get_future().get();
  CHECK(sent >= 7);
  CHECK_FALSE(stream.is_open());
  CHECK(server.server->counters().streams_dropped == 1);
  CHECK(server.server->counters().streams_open == 0);
  CHECK(slow.read_to_end().find("\r\n0\r\n\r\n") == std::string::npos);  // cut off, not ended in good order
}

TEST_CASE("a writer that waits for room is never dropped") {
  StreamServer server({.stream_queue = kibibytes(64)}, StreamForm::kPlain);
  HttpClient client(server.endpoint(), {});
  size_t received = 0;
  auto reading = std::async(std::launch::async, [&] {
    return client.stream({.path = "/"}, [&](std::string_view piece) {
      received += piece.size();
      return Flow::kContinue;
    });
  });
  EventStream stream = server.stream();
  constexpr int kPieces = 500;
  std::promise<void> done;
  int written = 0;
  std::function<void()> write_more = [&] {
    if (written == kPieces) return done.set_value();
    written += 1;
    CHECK(stream.write(std::string(16384, 'x')));
    stream.when_room(write_more);
  };
  server.server->post(write_more);
  done.get_future().get();
  stream.close();
  CHECK(reading.get().has_value());
  CHECK(received == size_t{kPieces} * 16384);
}

TEST_CASE("a quiet event stream has a heartbeat") {
  StreamServer server({.heartbeat = milliseconds(10)});
  RawConnection client(server.server->port());
  REQUIRE(client.send(kGet));
  const EventStream stream = server.stream();
  CHECK(client.read_until("\r\n3\r\n:\n\n\r\n").ends_with(":\n\n\r\n"));
  CHECK(client.read_until("3\r\n:\n\n\r\n").ends_with(":\n\n\r\n"));
}

TEST_CASE("the writer learns that the client has gone") {
  StreamServer server;
  auto client = std::make_unique<RawConnection>(server.server->port());
  REQUIRE(client->send(kGet));
  EventStream stream = server.stream();
  std::promise<void> closed;
  stream.when_closed([&] { closed.set_value(); });
  client.reset();
  closed.get_future().get();
  CHECK_FALSE(stream.send({.data = "x"}));
}

TEST_CASE("after a stream ends in good order the connection serves on") {
  StreamServer server({}, StreamForm::kPlain);
  RawConnection client(server.server->port());
  REQUIRE(client.send(kGet + kGet));
  server.stream(0).write("one");
  CHECK(client.read_until("0\r\n\r\n").find("3\r\none\r\n") != std::string::npos);
  server.stream(1).write("two");
  CHECK(client.read_until("0\r\n\r\n").find("3\r\ntwo\r\n") != std::string::npos);
}

TEST_CASE("HTTP/1.0 gets the bare bytes and a close") {
  StreamServer server({}, StreamForm::kPlain);
  RawConnection client(server.server->port());
  REQUIRE(client.send("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  server.stream().write("log line\n");
  const std::string answer = client.read_to_end();
  CHECK(answer.find("chunked") == std::string::npos);
  CHECK(answer.ends_with("\r\n\r\nlog line\n"));
}

TEST_CASE("one stream too many is refused with 429") {
  StreamServer server({.event_streams = 1});
  RawConnection first(server.server->port());
  REQUIRE(first.send(kGet));
  const EventStream open = server.stream(0);
  RawConnection second(server.server->port());
  REQUIRE(second.send(kGet));
  CHECK(second.read_answer().starts_with("HTTP/1.1 429 "));
  CHECK_FALSE(server.stream(1).is_open());
  CHECK(server.server->counters().streams_open == 1);
}

TEST_CASE("stopping the server ends its streams in good order") {
  StreamServer server;
  RawConnection client(server.server->port());
  REQUIRE(client.send(kGet));
  EventStream stream = server.stream();
  REQUIRE(stream.send({.data = "last"}));
  std::thread stopping([&] { server.server->stop(minutes(5)); });
  CHECK(client.read_until("\r\n0\r\n\r\n").find("data: last") != std::string::npos);
  { const RawConnection gone = std::move(client); }
  stopping.join();
  CHECK_FALSE(stream.send({.data = "x"}));
}

TEST_CASE("a waiting client can be woken or can stop by itself") {
  StreamServer server;
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const Descriptor read_end(pipe[0]);
  const Descriptor write_end(pipe[1]);
  HttpClient client(server.endpoint(), {.wake_descriptor = read_end.number()});
  std::thread writer([&] {
    EventStream stream = server.stream(0);
    stream.send({.data = "x"});
    EventStream second = server.stream(1);
    CHECK(::write(write_end.number(), "x", 1) == 1);
    std::promise<void> closed;
    second.when_closed([&] { closed.set_value(); });
    closed.get_future().get();
  });
  CHECK(*client.stream({.path = "/"}, [](std::string_view) { return Flow::kStop; }) == StreamEnd::kStopped);
  CHECK(*client.stream({.path = "/"}, [](std::string_view) { return Flow::kContinue; }) == StreamEnd::kWoken);
  client = HttpClient(server.endpoint(), {});  // hangs up
  writer.join();
}

}  // namespace moulin
