#include "engine/local/shim_link.h"

#include <sys/socket.h>

#include <cerrno>

namespace moulin {
namespace {

// States are small, so this many bytes in one turn only come from a shim gone wrong.
constexpr size_t kTurnBytesMax = 16 << 20;

void take(const Message& message, ShimLink::News& news) {
  if (message.kind == MessageKind::kState) {
    if (Result<ShimState> state = decode<ShimState>(message.body)) news.states.push_back(std::move(*state));
    else news.closed = true;
  } else if (message.kind == MessageKind::kRefused) {
    Result<Refused> refused = decode<Refused>(message.body);
    news.refused = refused && !refused->reason.empty() ? refused->reason : "refused without a reason";
    news.closed = true;
  }
}

}  // namespace

ShimLink::ShimLink(Fd socket, const std::string& token) : socket_(std::move(socket)) {
  send(frame_of(MessageKind::kHello, Hello{.token = token}));
}

void ShimLink::send(std::string frame) {
  unsent_ += frame;
  write();
}

void ShimLink::write() {
  while (!unsent_.empty()) {
    ssize_t put = ::send(socket_.number(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return;  // a broken connection shows when we read
    unsent_.erase(0, static_cast<size_t>(put));
  }
}

ShimLink::News ShimLink::serve() {
  News news;
  write();
  char buffer[65536];
  for (size_t total = 0; !news.closed && total < kTurnBytesMax;) {
    ssize_t got = ::recv(socket_.number(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return news;
    if (got <= 0) {
      news.closed = true;
      return news;
    }
    total += static_cast<size_t>(got);
    reader_.add({buffer, static_cast<size_t>(got)});
    while (!news.closed) {
      Result<std::optional<Message>> message = reader_.next();
      if (!message) news.closed = true;
      else if (!*message) break;
      else take(**message, news);
    }
  }
  return news;
}

}  // namespace moulin
