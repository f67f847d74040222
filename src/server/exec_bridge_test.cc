// Bridges to commands that a test plays, over real WebSockets.
#include "server/exec_bridge.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>

#include "api/http_server.h"
#include "api/problem.h"
#include "api/wire_types.h"
#include "server/testing.h"

namespace moulin {
namespace {

using testing::FakeEngine;

constexpr int kTriesMax = 50'000'000;

// What became of a command. Told by another thread.
struct Played {
  std::promise<void> full{};  // more input waits than may
  std::promise<void> hung_up{};
  Descriptor peer{};  // of the channel
};

// Says "ready" and then nothing. Hungry: takes its input; else it waits for ever.
class PlayedChannel : public ExecChannel {
 public:
  enum class Appetite { kHungry, kFull };
  PlayedChannel(Played& played, Appetite appetite) : played_(played), appetite_(appetite) {
    int ends[2];
    MOULIN_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours_ = Descriptor(ends[0]);
    MOULIN_CHECK(::send(ends[1], "ready", 5, 0) == 5);
    played.peer = Descriptor(ends[1]);
  }
  ~PlayedChannel() override { played_.hung_up.set_value(); }

  int descriptor() const override { return ours_.number(); }
  bool wants_to_write() const override { return false; }
  News serve() override {
    char bytes[64];
    ssize_t got = ::recv(ours_.number(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {.output = got > 0 ? std::string(bytes, static_cast<size_t>(got)) : ""};
  }
  void input(std::string_view bytes) override {
    bool was_full = waiting_ > kWaitingMax;
    waiting_ += appetite_ == Appetite::kFull ? bytes.size() : 0;
    if (!was_full && waiting_ > kWaitingMax) played_.full.set_value();
  }
  void end_input() override {}
  void resize(const TerminalShape&) override {}
  void signal(int32_t) override {}
  size_t waiting() const override { return waiting_; }

 private:
  Played& played_;
  const Appetite appetite_;
  Descriptor ours_{};
  size_t waiting_ = 0;
};

class BridgeHarness {
 public:
  explicit BridgeHarness(const ExecLimits& limits, PlayedChannel::Appetite appetite = PlayedChannel::Appetite::kHungry)
      : bridges(limits) {
    engine.on_exec = [this, appetite](const ExecCommand&) { return std::make_unique<PlayedChannel>(played, appetite); };
    auto started = HttpServer::start({.tcp = TcpAddress{}}, [this](Request request, Responder responder) {
      Result<ExecPlace> place = bridges.take_place(UserName(request.segments.front()));
      if (!place) return responder.answer(problem_response(place.error()));
      responder.take_over([this, place = *place, request](TakenOver connection) {
        bridges.start(place, std::move(connection), request, {.engine = engine, .check = check});
      });
    });
    REQUIRE(started.has_value());
    server_ = std::move(*started);
  }

  Result<std::unique_ptr<WebSocket>> try_to_connect(const std::string& user) {
    return WebSocket::connect(*parse_endpoint(server_->url()), "/" + user, "");
  }
  std::unique_ptr<WebSocket> connect(const std::string& user) { return try_to_connect(user).value(); }
  // Which says what it wants to run.
  std::unique_ptr<WebSocket> ask(const std::string& user) {
    auto socket = connect(user);
    socket->send(WebSocket::Kind::kText, R"({"command":["true"]})");
    return socket;
  }
  // What the server says at the end.
  static std::string last_words(WebSocket& socket) {
    std::string said;
    socket.on_message = [&](WebSocket::Kind kind, std::string_view bytes) {
      if (kind == WebSocket::Kind::kText) said = bytes;
    };
    socket.run();
    return said;
  }

  std::function<Status()> check;  // set before anybody connects
  FakeEngine engine;
  Played played;
  ExecBridges bridges;

 private:
  std::unique_ptr<HttpServer> server_;
};

bool comes(std::promise<void>& promise) {
  return promise.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
}

Code refusal(ExecBridges& bridges, std::string_view user) { return bridges.take_place(UserName(user)).error().code; }

}  // namespace

TEST_CASE("there is room for so many commands, for so many of one user, and again for the next when one has gone") {
  BridgeHarness harness({.bridges = 2, .of_one_user = 1});
  auto eve = harness.connect("eve");
  CHECK(refusal(harness.bridges, "eve") == Code::kTooMany);
  CHECK(harness.bridges.take_place(UserName("ann")).has_value());
  auto ann = harness.connect("ann");
  CHECK(refusal(harness.bridges, "zoe") == Code::kTooMany);
  auto refused = harness.bridges.take_place(UserName("zoe"));
  CHECK(refused.error().allowed == "2 at a time, 1 of one user");
  ann->close();
  ann->run();  // until the other side has closed, too
  bool room = false;
  for (int tries = 0; !room && tries < kTriesMax; ++tries) {
    std::this_thread::yield();
    room = harness.bridges.take_place(UserName("zoe")).has_value();
  }
  CHECK(room);
}

TEST_CASE("who gets no place is answered, also while the first has not begun") {
  BridgeHarness harness({.bridges = 1});
  Result<ExecPlace> taken = harness.bridges.take_place(UserName("ann"));
  REQUIRE(taken.has_value());
  auto refused = harness.try_to_connect("eve");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::kTooMany);
  taken->reset();
  CHECK(harness.try_to_connect("eve").has_value());
}

TEST_CASE("who does not say what to run is let go") {
  BridgeHarness harness({.silence = milliseconds(20), .beat = milliseconds(1)});
  auto socket = harness.connect("eve");
  CHECK(BridgeHarness::last_words(*socket).find("no command was asked for") != std::string::npos);
}

TEST_CASE("who does not take the end keeps no place") {
  BridgeHarness harness({.silence = milliseconds(1), .beat = milliseconds(1)});
  auto socket = harness.connect("eve");  // and says nothing, nor closes
  bool open = true;
  for (int tries = 0; open && tries < kTriesMax; ++tries) {
    std::this_thread::yield();
    open = harness.bridges.open() > 0;
  }
  CHECK_FALSE(open);
}

TEST_CASE("a command that neither says nor hears anything is hung up") {
  BridgeHarness harness({.idle = milliseconds(50), .beat = milliseconds(1)});
  auto socket = harness.ask("eve");
  CHECK(BridgeHarness::last_words(*socket).find("nothing was said") != std::string::npos);
  CHECK(comes(harness.played.hung_up));
}

TEST_CASE("who may do it no more is hung up") {
  BridgeHarness harness({.beat = milliseconds(1)});
  std::atomic<bool> allowed = true;
  harness.check = [&]() -> Status {
    if (allowed) return {};
    return Error{.code = Code::kUnauthenticated, .message = "the token was revoked"};
  };
  auto socket = harness.ask("eve");
  std::string said;
  socket->on_message = [&](WebSocket::Kind kind, std::string_view bytes) {
    if (kind == WebSocket::Kind::kText) said = bytes;
    allowed = false;  // it had begun
  };
  socket->run();
  CHECK(said.find("the token was revoked") != std::string::npos);
  CHECK(comes(harness.played.hung_up));
}

TEST_CASE("hanging up reaches the command at once, whatever the client does then") {
  BridgeHarness harness({.idle = milliseconds(50), .beat = milliseconds(1)});
  auto socket = harness.ask("eve");
  socket->on_message = [&](WebSocket::Kind, std::string_view) { socket->stop(); };  // it is there, and hears no more
  socket->run();
  REQUIRE(comes(harness.played.hung_up));
  pollfd end{.fd = harness.played.peer.number(), .events = POLLIN, .revents = 0};
  constexpr int kLongMs = 20'000;
  REQUIRE(::poll(&end, 1, kLongMs) == 1);
  char byte = 0;
  CHECK(::recv(end.fd, &byte, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE("a client that goes hangs up, also on a command that takes no input") {
  BridgeHarness harness({}, PlayedChannel::Appetite::kFull);
  std::thread client([&] {
    auto socket = harness.ask("eve");
    socket->on_message = [&](WebSocket::Kind, std::string_view) {
      socket->send(WebSocket::Kind::kBinary, std::string(1, '\0') + std::string(ExecChannel::kWaitingMax + 1, 'x'));
      socket->send(WebSocket::Kind::kBinary, std::string(1, '\0') + std::string(4096, 'x'));
    };
    socket->on_beat = [&, fed = harness.played.full.get_future().share()] {
      if (fed.wait_for(std::chrono::seconds(0)) == std::future_status::ready) socket->stop();
    };
    socket->beat = milliseconds(1);
    socket->run();
  });
  client.join();
  CHECK(comes(harness.played.hung_up));
}

}  // namespace moulin
