#include "api/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "api/http_target.h"

namespace moulin {

namespace {

constexpr int kBacklog = 512;

std::string error_text(int number) { return std::strerror(number); }  // NOLINT(concurrency-mt-unsafe): glibc's is safe

Error failed(std::string what, std::string given) {
  return {
      .code = Code::kUnavailable, .message = fmt::format("{}: {}", what, error_text(errno)), .given = std::move(given)};
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  Descriptor folder{};  // keeps the way to a long UNIX path open
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<SocketAddress> tcp_address(const TcpAddress& address) {
  SocketAddress result;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
    std::memcpy(&result.storage, &four, sizeof four);
    result.size = sizeof four;
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    std::memcpy(&result.storage, &six, sizeof six);
    result.size = sizeof six;
  } else {
    return Error{.code = Code::kInvalid,
                 .message = "not an address",
                 .field = "listen",
                 .given = address.host,
                 .allowed = "localhost, an IPv4 address or an IPv6 address"};
  }
  return result;
}

Result<SocketAddress> unix_address(const std::string& path) {
  SocketAddress result;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string short_path = path;
  if (path.size() >= sizeof address.sun_path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    result.folder = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!result.folder) return failed("cannot open the folder of the socket", path);
    short_path = fmt::format("/proc/self/fd/{}/{}", result.folder.number(), path.substr(slash + 1));
  }
  if (short_path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos || path.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "not a path for a socket",
                 .given = path,
                 .allowed = "a file name of at most 80 bytes without NUL"};
  }
  std::memcpy(address.sun_path, short_path.data(), short_path.size());
  std::memcpy(&result.storage, &address, sizeof address);
  result.size = sizeof address;
  return result;
}

Result<Descriptor> new_socket(int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return failed("cannot make a socket", "");
  return socket;
}

Status wait_connected(const Descriptor& socket, Duration timeout, const std::string& given) {
  pollfd wait{.fd = socket.number(), .events = POLLOUT, .revents = 0};
  const int64_t timeout_ms = std::clamp<int64_t>(timeout.us / 1000, 1, 3'600'000);
  const int ready = ::poll(&wait, 1, static_cast<int>(timeout_ms));
  if (ready == 0) errno = ETIMEDOUT;
  if (ready <= 0) return failed("cannot connect", given);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  if (error != 0) return failed("cannot connect", given);
  return {};
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) ::close(number_);
    number_ = other.release();
  }
  return *this;
}

Result<Descriptor> listen_tcp(const TcpAddress& address) {
  const SocketAddress to = TRY(tcp_address(address));
  const std::string given = fmt::format("{}:{}", address.host, address.port);
  if (!is_loopback_name(address.host)) {
    return Error{.code = Code::kRefused,
                 .message = "listening beyond this machine needs TLS, which this server does not speak yet",
                 .field = "listen",
                 .given = given,
                 .allowed = "127.0.0.1:PORT, [::1]:PORT",
                 .to_do = "listen on loopback and let a TLS proxy on this machine forward to it"};
  }
  Descriptor socket = TRY(new_socket(to.storage.ss_family));
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.number(), to.data(), to.size) == 0 && ::listen(socket.number(), kBacklog) == 0) return socket;
  const int number = errno;
  Error error = failed("cannot listen", given);
  error.field = "listen";
  if (number == EADDRINUSE) {
    error.code = Code::kConflict;
    error.message = "another program listens on this port";
    error.to_do = "choose another with --listen 127.0.0.1:PORT, or port 0 for any free one";
  }
  return error;
}

Result<uint16_t> port_of(const Descriptor& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return failed("cannot read the port", "");
  }
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

Result<Descriptor> listen_unix(const std::string& path) {
  const SocketAddress to = TRY(unix_address(path));
  if (connect_unix(path)) {
    return Error{.code = Code::kConflict,
                 .message = "another server listens on this socket",
                 .given = path,
                 .to_do = "stop it with `moulin down`, or use another data folder"};
  }
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      return Error{.code = Code::kConflict,
                   .message = "a file that is no socket is in the way",
                   .given = path,
                   .to_do = "move it away"};
    }
    ::unlink(path.c_str());
  }
  Descriptor socket = TRY(new_socket(AF_UNIX));
  // Nobody can connect before listen(), so the wider mode in between is of no use to anyone.
  if (::bind(socket.number(), to.data(), to.size) != 0 || ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 ||
      ::listen(socket.number(), kBacklog) != 0) {
    return failed("cannot listen on the socket", path);
  }
  return socket;
}

Result<Descriptor> connect_tcp(const TcpAddress& address, Duration timeout) {
  const SocketAddress to = TRY(tcp_address(address));
  const std::string given = fmt::format("{}:{}", address.host, address.port);
  Descriptor socket = TRY(new_socket(to.storage.ss_family));
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.number(), to.data(), to.size) != 0) {
    if (errno != EINPROGRESS) return failed("cannot connect", given);
    TRY(wait_connected(socket, timeout, given));
  }
  return socket;
}

Result<Descriptor> connect_unix(const std::string& path) {
  const SocketAddress to = TRY(unix_address(path));
  Descriptor socket = TRY(new_socket(AF_UNIX));
  if (::connect(socket.number(), to.data(), to.size) != 0) return failed("cannot connect", path);
  return socket;
}

}  // namespace moulin
