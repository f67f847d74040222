// A connection for tests that says exactly the bytes it is told, well-formed or not.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "api/socket.h"
#include "base/check.h"

namespace moulin {

class RawConnection {
 public:
  explicit RawConnection(uint16_t port) : RawConnection(connect_tcp({.port = port}, seconds(10))) {}
  explicit RawConnection(Result<Descriptor> socket) {
    MOULIN_CHECK(socket.has_value(), "a server listens");
    socket_ = std::move(*socket);
  }

  // False when the server closed before everything was taken.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent < 0 && !wait(POLLOUT)) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  void end_sending() { ::shutdown(socket_.number(), SHUT_WR); }

  // What arrives until `text` has come, or the server closes. What follows `text` is
  // kept for the next call.
  std::string read_until(std::string_view text) {
    for (;;) {  // ends by close or by the time of wait()
      const size_t found = in_.find(text);
      if (found != std::string::npos) {
        std::string result = in_.substr(0, found + text.size());
        in_.erase(0, found + text.size());
        return result;
      }
      if (!receive()) return std::exchange(in_, {});
    }
  }

  // Everything until the server closes.
  std::string read_to_end() {
    while (receive()) {}
    return std::exchange(in_, {});
  }

  // Status line, headers and a body of the length they give.
  std::string read_answer() {
    std::string head = read_until("\r\n\r\n");
    const size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    const size_t length = std::stoul(head.substr(at + 16));
    while (in_.size() < length && receive()) {}
    head += in_.substr(0, length);
    in_.erase(0, std::min(length, in_.size()));
    return head;
  }

  bool timed_out() const { return timed_out_; }
  const Descriptor& socket() const { return socket_; }

 private:
  bool wait(short events) {
    pollfd polled{socket_.number(), events, 0};
    timed_out_ = ::poll(&polled, 1, 60'000) <= 0;  // a bound for a broken test, not a measure
    return !timed_out_;
  }

  bool receive() {
    std::array<char, 16384> piece;
    for (;;) {  // ends by close, by bytes or by the time of wait()
      const ssize_t count = ::recv(socket_.number(), piece.data(), piece.size(), 0);
      if (count > 0) {
        in_.append(piece.data(), static_cast<size_t>(count));
        return true;
      }
      if (count == 0 || errno != EAGAIN || !wait(POLLIN)) return false;
    }
  }

  Descriptor socket_;
  std::string in_;
  bool timed_out_ = false;
};

}  // namespace moulin
