#include "shim/control_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include <doctest/doctest.h>

#include "shim/temporary_folder.h"

namespace moulin {
namespace {

constexpr const char* kToken = "secret";

// A listening control socket, and clients of it.
class Harness {
 public:
  Harness() : socket_(listener(), kToken) {}

  Fd connect() {
    Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un to = address();
    REQUIRE(::connect(client.number(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    return client;
  }
  Fd connect_and_greet(const std::string& token = kToken) {
    Fd client = connect();
    std::string hello = frame_of(MessageKind::kHello, Hello{.token = token});
    REQUIRE(::send(client.number(), hello.data(), hello.size(), 0) == std::ssize(hello));
    return client;
  }
  ControlSocket& socket() { return socket_; }

  // Kinds of the messages that a client has got, and whether the other side hung up.
  struct Heard {
    std::vector<MessageKind> kinds{};
    bool closed = false;
  };
  static Heard hear(const Fd& client) {
    Heard heard;
    FrameReader reader;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::recv(client.number(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
      reader.add({buffer, static_cast<size_t>(got)});
    }
    heard.closed = got == 0;
    while (true) {
      Result<std::optional<Message>> message = reader.next();
      REQUIRE(message.has_value());
      if (!*message) return heard;
      heard.kinds.push_back((*message)->kind);
    }
  }

 private:
  sockaddr_un address() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string path = folder_ / "control.sock";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
  }
  Fd listener() const {
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un at = address();
    REQUIRE(::bind(listener.number(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener.number(), 64) == 0);
    return listener;
  }

  testing::TemporaryFolder folder_;
  ControlSocket socket_;
};

}  // namespace

TEST_CASE("who knows the token is let in and gets states; who does not is told so and shut out") {
  Harness harness;
  Fd ours = harness.connect_and_greet();
  Fd other = harness.connect_and_greet("guessed");
  CHECK(harness.socket().serve().size() == 1);
  harness.socket().push({});
  CHECK(harness.hear(ours).kinds == std::vector{MessageKind::kWelcome, MessageKind::kState});
  Harness::Heard refused = harness.hear(other);
  CHECK(refused.kinds == std::vector{MessageKind::kRefused});
  CHECK(refused.closed);
}

TEST_CASE("who feeds fast is read a piece at a time, and all of it in the end") {
  Harness harness;
  Fd client = harness.connect_and_greet();
  constexpr size_t kFrames = 15;
  constexpr size_t kPiece = 8 << 10;
  std::string bytes = frame_of(MessageKind::kExec, ExecRequest{.argv = {"cat"}});
  for (size_t i = 0; i < kFrames; ++i) bytes += frame(MessageKind::kInput, std::string(kPiece, 'x'));
  REQUIRE(::send(client.number(), bytes.data(), bytes.size(), 0) == std::ssize(bytes));
  size_t fed = 0;
  int turns = 0;
  for (; fed < kFrames * kPiece && turns < 10; ++turns) {
    size_t before = fed;
    for (const ShimCommand& command : harness.socket().serve()) {
      const auto* message = std::get_if<ExecMessage>(&command);
      if (message != nullptr && message->message.kind == MessageKind::kInput) fed += message->message.body.size();
    }
    CHECK(fed - before <= 72 << 10);
  }
  CHECK(fed == kFrames * kPiece);
  CHECK(turns > 1);
}

TEST_CASE("who asks for a second command is shut out, and the first is told of it") {
  Harness harness;
  Fd client = harness.connect_and_greet();
  std::string exec = frame_of(MessageKind::kExec, ExecRequest{.argv = {"cat"}});
  std::string bytes = exec + exec;
  REQUIRE(::send(client.number(), bytes.data(), bytes.size(), 0) == std::ssize(bytes));
  std::vector<ShimCommand> commands = harness.socket().serve();
  REQUIRE(commands.size() == 3);
  CHECK(std::holds_alternative<Greeted>(commands[0]));
  REQUIRE(std::holds_alternative<ExecMessage>(commands[1]));
  REQUIRE(std::holds_alternative<ExecClientGone>(commands[2]));
  CHECK(std::get<ExecClientGone>(commands[2]).client == std::get<ExecMessage>(commands[1]).client);
  Harness::Heard heard = Harness::hear(client);
  CHECK(heard.kinds == std::vector{MessageKind::kWelcome, MessageKind::kRefused});
  CHECK(heard.closed);
}

TEST_CASE("callers that say nothing do not push out the one that was let in") {
  Harness harness;
  Fd ours = harness.connect_and_greet();
  harness.socket().serve();
  std::vector<Fd> silent;
  for (size_t i = 0; i < 2 * ControlSocket::kClientsMax; ++i) {
    silent.push_back(harness.connect());
    harness.socket().serve();
  }
  CHECK(harness.socket().has_clients());
  CHECK_FALSE(harness.hear(ours).closed);
  CHECK(harness.hear(silent.front()).closed);
  CHECK_FALSE(harness.hear(silent.back()).closed);
}

TEST_CASE("when all were let in, the newest gets the place of the one before it, and the oldest stays") {
  Harness harness;
  std::vector<Fd> clients;
  for (size_t i = 0; i <= ControlSocket::kClientsMax; ++i) {
    clients.push_back(harness.connect_and_greet());
    harness.socket().serve();
  }
  harness.socket().push({});
  CHECK_FALSE(harness.hear(clients.front()).closed);
  CHECK(harness.hear(clients[ControlSocket::kClientsMax - 1]).closed);
  CHECK(harness.hear(clients.back()).kinds == std::vector{MessageKind::kWelcome, MessageKind::kState});
}

}  // namespace moulin
