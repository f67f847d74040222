// The HTTP server: one thread that reads, checks and writes, for all connections.
//
// It knows HTTP and nothing of Moulin: what a request means is the handler's. It speaks
// HTTP/1.0 and 1.1 with keep-alive and pipelining (answers in order), answers what is
// malformed, too large or from a foreign page before any handler runs, and holds every
// connection to HttpLimits.
//
//   auto server = TRY(HttpServer::start({.tcp = TcpAddress{}}, handler));
//   announce(server->url());
//   ...
//   server->stop(seconds(10));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http_responder.h"
#include "api/http_target.h"
#include "api/http_types.h"
#include "api/socket.h"
#include "base/result.h"

namespace moulin {

struct HttpServerOptions {
  std::optional<TcpAddress> tcp{};  // loopback only; port 0: any free one
  std::string unix_path{};          // empty: no UNIX socket
  std::string base_path{};          // "" or "/moulin": outside it TCP answers 404; the UNIX socket has none
  HostPolicy hosts{};
  HttpLimits limits{};
  // Told, on the I/O thread, of defects that a request met; stderr unless set.
  std::function<void(std::string_view)> report{};
};

// Since the start. For metrics; read from any thread.
struct HttpCounters {
  int64_t connections_open = 0;
  int64_t connections_accepted = 0;
  int64_t connections_refused = 0;  // above the limit
  int64_t requests = 0;             // given to the handler
  int64_t refusals = 0;             // answered by the server itself
  int64_t timeouts = 0;             // connections closed by one of the times
  int64_t buffered_bytes = 0;       // bodies and answers now in memory
  int64_t streams_open = 0;
  int64_t streams_dropped = 0;  // consumers that were too slow
};

class HttpServer {
 public:
  // Listens and starts the thread. The handler is called on that thread, from then on
  // until stop() has returned. Errors: those of listen_tcp and listen_unix.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpHandler handler);
  ~HttpServer();  // stop() without grace

  uint16_t port() const;    // 0 without TCP
  std::string url() const;  // "http://127.0.0.1:8080" and the base path; empty without TCP
  HttpCounters counters() const;

  // Runs `task` on the I/O thread soon; drops it after stop().
  void post(std::function<void()> task);

  // Accepts nothing more, closes idle connections, ends streams, lets running requests
  // finish for up to `grace`, cuts what is left, and returns. Not from the I/O thread.
  // Answers given later go nowhere, safely. Again: does nothing.
  void stop(Duration grace);

 private:
  struct Implementation;
  explicit HttpServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace moulin
