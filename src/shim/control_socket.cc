#include "shim/control_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace moulin {
namespace {

constexpr int kReadsMax = 16;  // a turn: what they bring must be taken before there is more

bool may_steer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace

namespace {

bool has_gone(int socket) {
  pollfd look{.fd = socket, .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

void ControlSocket::add_to(std::vector<pollfd>& waits) const {
  waits.push_back({.fd = listener_.number(), .events = POLLIN, .revents = 0});
  for (const Client& client : clients_) {
    short events = static_cast<short>((client.held ? 0 : POLLIN) | (client.unsent.empty() ? 0 : POLLOUT));
    waits.push_back({.fd = client.socket.number(), .events = events, .revents = 0});
  }
}

std::vector<ShimCommand> ControlSocket::serve() {
  std::vector<ShimCommand> commands;
  accept_all();
  for (Client& client : clients_) {
    send_to(client);
    read_from(client, commands);
  }
  for (Client& client : clients_) {
    if (client.closing && std::exchange(client.executes, false)) commands.emplace_back(ExecClientGone{client.number});
  }
  drop_closed();
  return commands;
}

void ControlSocket::push(const ShimState& state) {
  std::string bytes = frame_of(MessageKind::kState, state);
  for (Client& client : clients_) {
    if (!client.greeted || client.executes || client.closing) continue;
    client.unsent += bytes;
    send_to(client);
  }
  drop_closed();
}

ControlSocket::Client* ControlSocket::find(int64_t number) {
  auto client = std::ranges::find(clients_, number, &Client::number);
  return client == clients_.end() ? nullptr : &*client;
}

void ControlSocket::send(int64_t client, std::string_view frame) {
  Client* to = find(client);
  if (to == nullptr || to->closing) return;
  to->unsent += frame;
  send_to(*to);
}

size_t ControlSocket::unsent(int64_t client) const {
  auto found = std::ranges::find(clients_, client, &Client::number);
  return found == clients_.end() ? 0 : found->unsent.size();
}

void ControlSocket::read_on(int64_t client, Reading reading) {
  if (Client* found = find(client)) found->held = reading == Reading::kHeld;
}

void ControlSocket::hang_up(int64_t client) {
  Client* found = find(client);
  if (found == nullptr) return;
  found->leaving = true;
  found->executes = false;
  send_to(*found);
  drop_closed();
}

bool ControlSocket::has_clients() const { return std::ranges::any_of(clients_, &Client::greeted); }

void ControlSocket::accept_all() {
  while (true) {
    Fd socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (!may_steer(socket.number())) continue;
    if (clients_.size() == kClientsMax) make_room();
    clients_.push_back({.socket = std::move(socket), .number = next_number_++});
  }
}

// A server that came back must always get in. Who has not said the token goes first, or
// callers that say nothing could push out the server; then the newest that has begun no
// command, for the oldest is the server that steers.
void ControlSocket::make_room() {
  auto leaves = std::ranges::find(clients_, false, &Client::greeted);
  if (leaves != clients_.end()) {
    clients_.erase(leaves);
    return;
  }
  auto newest = std::ranges::find(clients_.rbegin(), clients_.rend(), false, &Client::executes);
  clients_.erase(newest == clients_.rend() ? clients_.begin() : std::next(newest).base());
}

void ControlSocket::read_from(Client& client, std::vector<ShimCommand>& commands) {
  // One that is held shows its end in no other way.
  if (client.held && has_gone(client.socket.number())) client.closing = true;
  char buffer[4096];
  for (int reads = 0; reads < kReadsMax && !client.closing && !client.held; ++reads) {
    ssize_t got = ::recv(client.socket.number(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      client.closing = true;
      return;
    }
    client.reader.add({buffer, static_cast<size_t>(got)});
    while (!client.closing) {
      Result<std::optional<Message>> message = client.reader.next();
      if (!message)
        refuse(client, message.error().message);
      else if (!*message)
        break;
      else
        take(client, **message, commands);
    }
  }
}

void ControlSocket::take(Client& client, const Message& message, std::vector<ShimCommand>& commands) {
  if (!client.greeted) return greet(client, message, commands);
  if (message.kind == MessageKind::kAsk) {
    commands.emplace_back(Asked{});
  } else if (message.kind == MessageKind::kRelease) {
    commands.emplace_back(Released{});
  } else if (message.kind == MessageKind::kEnd) {
    Result<EndOrder> order = decode<EndOrder>(message.body);
    bool known = order && order->reason >= ShimEndReason::kPause && order->reason <= ShimEndReason::kKill;
    if (!known) return refuse(client, "an end order that is not understood");
    commands.emplace_back(*order);
  } else if (message.kind == MessageKind::kSeen) {
    Result<Seen> seen = decode<Seen>(message.body);
    if (!seen) return refuse(client, "a damaged message");
    commands.emplace_back(*seen);
  } else if (message.kind >= MessageKind::kExec && message.kind <= MessageKind::kSignal &&
             client.version >= kExecVersion) {
    // Closing tells of the first one, as when it goes by itself.
    if (client.executes && message.kind == MessageKind::kExec) return refuse(client, "one command a connection");
    client.executes = client.executes || message.kind == MessageKind::kExec;
    if (client.executes) commands.emplace_back(ExecMessage{client.number, message});
  }
  // Other kinds come from a later version and are not for us.
}

void ControlSocket::greet(Client& client, const Message& message, std::vector<ShimCommand>& commands) {
  Result<Hello> hello = decode<Hello>(message.body);
  if (message.kind != MessageKind::kHello || !hello) return refuse(client, "the first message must be a hello");
  if (!same_secret(hello->token, token_)) return refuse(client, "the token is not that of this attempt");
  if (hello->version < kShimProtocolVersionMin) {
    return refuse(client, fmt::format("protocol version {} is too old, {} is the oldest accepted", hello->version,
                                      kShimProtocolVersionMin));
  }
  client.greeted = true;
  client.version = std::min(hello->version, kShimProtocolVersion);
  client.unsent += frame_of(MessageKind::kWelcome, Welcome{.version = client.version});
  commands.emplace_back(Greeted{});
}

void ControlSocket::refuse(Client& client, std::string reason) {
  client.unsent += frame_of(MessageKind::kRefused, Refused{.reason = std::move(reason)});
  send_to(client);
  client.closing = true;
}

void ControlSocket::send_to(Client& client) {
  while (!client.unsent.empty()) {
    const std::string& bytes = client.unsent;
    ssize_t put = ::send(client.socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      if (errno != EAGAIN || bytes.size() > kUnsentMax) client.closing = true;
      return;
    }
    client.unsent.erase(0, static_cast<size_t>(put));
  }
  client.closing = client.closing || client.leaving;
}

void ControlSocket::drop_closed() {
  // serve() tells of one that executed first.
  std::erase_if(clients_, [](const Client& client) { return client.closing && !client.executes; });
}

}  // namespace moulin
