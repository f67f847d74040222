#include "api/http_server.h"

#include "api/http_connection.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "base/check.h"

namespace moulin {

namespace {

using namespace http_internal;

constexpr int kAcceptsPerWakeUp = 64;                 // so that a flood of connections starves nobody
constexpr int64_t kRefusedAtOnceMax = 64;             // above the limit by more than this: no word, just closed
constexpr Duration kAcceptPause = milliseconds(100);  // when there are no descriptors left

std::string address_text(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&from);
    inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, ntohs(four->sin_port));
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&from);
  inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
  return fmt::format("[{}]:{}", text, ntohs(six->sin6_port));
}

Peer peer_of(int socket, const sockaddr_storage& from) {
  if (from.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {.transport = Peer::Transport::kTcp, .address = address_text(from)};
  }
  Peer peer{.transport = Peer::Transport::kUnix, .address = "unix"};
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    peer.user_id = credentials.uid;
    peer.process_id = credentials.pid;
  }
  return peer;
}

// One listening socket and its loop.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<ServerCore> core, Descriptor socket, int family)
      : core_(std::move(core)), family_(family), socket_(core_->io, socket.release()), pause_(core_->io) {}

  void wait() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error) self->accept_some();
    });
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
    pause_.cancel(ignored);
  }

 private:
  void accept_some() {
    for (int i = 0; i < kAcceptsPerWakeUp && socket_.is_open(); ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      Descriptor accepted(
          ::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) {
        if (errno == EAGAIN) break;
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) return wait_a_little();
        continue;  // this one connection was given up by its client
      }
      from.ss_family = static_cast<sa_family_t>(family_);  // an unnamed UNIX peer reports none
      take(std::move(accepted), from);
    }
    if (socket_.is_open()) wait();
  }

  void wait_a_little() {
    pause_.expires_after(chrono_of(kAcceptPause));
    pause_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->accept_some();
    });
  }

  void take(Descriptor accepted, const sockaddr_storage& from) {
    core_->counters.connections_accepted += 1;
    const int64_t open = core_->counters.connections_open;
    const int64_t allowed = core_->options.limits.connections;
    if (open >= allowed + kRefusedAtOnceMax) {
      core_->counters.connections_refused += 1;
      return;
    }
    Peer peer = peer_of(accepted.number(), from);
    Socket socket(core_->io);
    error_code error;
    socket.assign(asio::generic::stream_protocol(family_, 0), accepted.number(), error);
    if (error) return;
    (void)accepted.release();
    const auto connection = std::make_shared<Connection>(core_, std::move(socket), std::move(peer));
    open >= allowed ? connection->start_refused() : connection->start();
  }

  const std::shared_ptr<ServerCore> core_;
  const int family_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
};

}  // namespace

struct HttpServer::Implementation {
  Implementation(HttpServerOptions options, HttpHandler handler)
      : core(std::make_shared<ServerCore>(std::move(options), std::move(handler))), grace_timer(core->io) {}

  Status listen() {
    if (core->options.tcp) {
      Descriptor socket = TRY(listen_tcp(*core->options.tcp));
      port = TRY(port_of(socket));
      const int family = core->options.tcp->host.find(':') == std::string::npos ? AF_INET : AF_INET6;
      acceptors.push_back(std::make_shared<Acceptor>(core, std::move(socket), family));
    }
    if (!core->options.unix_path.empty()) {
      Descriptor socket = TRY(listen_unix(core->options.unix_path));
      owns_unix_path = true;
      acceptors.push_back(std::make_shared<Acceptor>(core, std::move(socket), AF_UNIX));
    }
    return {};
  }

  void begin() {
    for (const auto& acceptor : acceptors) acceptor->wait();
    thread = std::thread([core = core] { core->io.run(); });
  }

  // On the I/O thread.
  void drain(Duration grace) {
    for (const auto& acceptor : acceptors) acceptor->close();
    acceptors.clear();
    core->draining = true;
    core->on_drained = [this] { grace_timer.cancel(); };
    const auto connections = core->connections;  // drain() may take some out
    for (const auto& connection : connections) connection->drain();
    if (core->connections.empty()) return;
    grace_timer.expires_after(chrono_of(grace));
    grace_timer.async_wait([this](error_code) {
      const auto left = core->connections;
      for (const auto& connection : left) connection->close();
    });
  }

  void end(Duration grace) {
    if (!thread.joinable()) return;
    core->post([this, grace] {
      drain(grace);
      work.reset();
    });
    thread.join();
    {
      const std::lock_guard lock(core->mutex);
      core->ended = true;
    }
    // What was posted between the thread's last look and `ended` still runs, here.
    core->io.restart();
    core->io.poll();
    if (owns_unix_path) ::unlink(core->options.unix_path.c_str());
  }

  const std::shared_ptr<ServerCore> core;
  asio::steady_timer grace_timer;
  std::vector<std::shared_ptr<Acceptor>> acceptors;
  asio::executor_work_guard<asio::io_context::executor_type> work{core->io.get_executor()};
  std::thread thread;
  uint16_t port = 0;
  bool owns_unix_path = false;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpHandler handler) {
  options.base_path = TRY(parse_base_path(options.base_path));
  if (!options.report) {
    options.report = [](std::string_view text) { fmt::print(stderr, "http: {}\n", text); };
  }
  auto implementation = std::make_unique<Implementation>(std::move(options), std::move(handler));
  const Status listening = implementation->listen();
  if (!listening) {
    implementation->acceptors.clear();
    return listening.error();
  }
  implementation->begin();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(implementation)));
}

HttpServer::HttpServer(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
HttpServer::~HttpServer() { stop(Duration{}); }

uint16_t HttpServer::port() const { return implementation_->port; }

std::string HttpServer::url() const {
  const HttpServerOptions& options = implementation_->core->options;
  if (!options.tcp) return {};
  const std::string& host = options.tcp->host;
  const bool is_six = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}{}", is_six ? "[" + host + "]" : host, port(), options.base_path);
}

HttpCounters HttpServer::counters() const {
  const AtomicCounters& counters = implementation_->core->counters;
  return {.connections_open = counters.connections_open,
          .connections_accepted = counters.connections_accepted,
          .connections_refused = counters.connections_refused,
          .requests = counters.requests,
          .refusals = counters.refusals,
          .timeouts = counters.timeouts,
          .buffered_bytes = counters.buffered_bytes,
          .streams_open = counters.streams_open,
          .streams_dropped = counters.streams_dropped};
}

void HttpServer::post(std::function<void()> task) { implementation_->core->post(std::move(task)); }

void HttpServer::stop(Duration grace) { implementation_->end(grace); }

}  // namespace moulin
