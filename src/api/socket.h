// Plain sockets of the kinds that the server listens on and clients connect to.
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/result.h"

namespace moulin {

// Owns a file descriptor, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct TcpAddress {
  std::string host = "127.0.0.1";  // "localhost", an IPv4 or an IPv6 address without brackets
  uint16_t port = 0;               // 0 when listening: any free one
};

// Listening, not blocking, closed on exec. Only loopback: beyond it, what we send would
// need TLS (kRefused). kConflict: the port is in use.
Result<Descriptor> listen_tcp(const TcpAddress& address);
// The port that a listening socket was given.
Result<uint16_t> port_of(const Descriptor& socket);

// The socket file belongs to us alone (0600). A file left by a dead server is replaced;
// kConflict: a living one listens there. Paths longer than the 107 bytes that the
// kernel takes work.
Result<Descriptor> listen_unix(const std::string& path);

// Connected, not blocking, closed on exec. kUnavailable: nobody listens there.
Result<Descriptor> connect_tcp(const TcpAddress& address, Duration timeout);
Result<Descriptor> connect_unix(const std::string& path);

}  // namespace moulin
