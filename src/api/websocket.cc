#include "api/websocket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include <cerrno>
#include <deque>
#include <map>
#include <utility>

#include "base/text.h"

namespace moulin {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Stream = beast::websocket::stream<Socket>;

constexpr Duration kHandshake = seconds(10);

// TCP asks for a sign of life when this long nothing came, and then this often.
constexpr int kProbeAfterSeconds = 30;
constexpr int kProbePauseSeconds = 10;
constexpr int kProbes = 6;

void probe_when_silent(int socket) {
  auto set = [socket](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);  // no effect on what is not TCP, as are the others
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbePauseSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

// Readable once the other side of `socket` has hung up, whatever may be read before that.
Descriptor watch_for_hang_up(int socket) {
  Descriptor watcher(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{.events = EPOLLRDHUP, .data = {}};
  bool watches = watcher.number() >= 0 && ::epoll_ctl(watcher.number(), EPOLL_CTL_ADD, socket, &wanted) == 0;
  return watches ? std::move(watcher) : Descriptor();
}

std::chrono::microseconds chrono_of(Duration duration) { return std::chrono::microseconds(duration.us); }

Error broken(std::string_view what, const error_code& error) {
  return {.code = Code::kUnavailable, .message = std::string(what) + ": " + error.message()};
}

// Without the blanks around it, in lower case.
std::string plain(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  std::string out(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
  const std::string* value = find_header(headers, name);
  if (value == nullptr) return false;
  for (std::string_view part : split(*value, ',')) {
    if (plain(part) == token) return true;
  }
  return false;
}

}  // namespace

struct WebSocket::Implementation {
  // A descriptor that somebody waits for; ours is a duplicate of it.
  struct Watched {
    asio::posix::stream_descriptor file;
    std::map<Wait, std::function<void()>> then{};
  };
  struct Queued {
    Kind kind;
    std::string bytes;
  };

  explicit Implementation(Descriptor connected) : stream(io) {
    probe_when_silent(connected.number());
    hang_up = watch_for_hang_up(connected.number());
    // The family does not matter to what we do with it.
    stream.next_layer().assign(asio::generic::stream_protocol(AF_UNSPEC, 0), connected.release());
    stream.read_message_max(kMessageMax);
    limit_handshake(std::chrono::duration_cast<std::chrono::seconds>(chrono_of(kHandshake)));
  }

  // Runs until `done`, which a handler sets.
  void run_until(const bool& done) {
    while (!done) io.run_one();
    io.restart();
  }

  // For closing, too.
  void limit_handshake(std::chrono::steady_clock::duration most) {
    beast::websocket::stream_base::timeout times{};
    times.handshake_timeout = most;
    times.idle_timeout = beast::websocket::stream_base::none();
    times.keep_alive_pings = false;
    stream.set_option(times);
  }

  void read(WebSocket& owner) {
    if (reading || held || over) return;
    reading = true;
    stream.async_read(buffer, [this, &owner](error_code error, size_t) {
      reading = false;
      if (error) return end(error);
      Kind kind = stream.got_text() ? Kind::kText : Kind::kBinary;
      std::string bytes = beast::buffers_to_string(buffer.data());
      buffer.consume(buffer.size());
      if (owner.on_message && !closing) owner.on_message(kind, bytes);
      read(owner);
    });
  }

  void write(WebSocket& owner) {
    if (writing || over) return;
    if (queue.empty()) {
      if (closing) return say_goodbye();
      if (owner.on_room) owner.on_room();
      return;
    }
    writing = true;
    stream.text(queue.front().kind == Kind::kText);
    stream.async_write(asio::buffer(queue.front().bytes), [this, &owner](error_code error, size_t) {
      writing = false;
      if (error) return end(error);
      unsent -= queue.front().bytes.size();
      queue.pop_front();
      write(owner);
    });
  }

  void say_goodbye() {
    if (std::exchange(said_goodbye, true)) return;
    stream.async_close(beast::websocket::close_code::normal, [this](error_code error) { end(error); });
  }

  void end(const error_code& error) {
    bool closed = error == beast::websocket::error::closed;
    if (!error || said_goodbye || (closed && closed_in_peace())) return end("");
    end(closed ? "the other side closed it with code " + std::to_string(stream.reason().code) : error.message());
  }
  // And not for a fault, as a message that is too large.
  bool closed_in_peace() const {
    using beast::websocket::close_code;
    auto code = stream.reason().code;
    return code == close_code::normal || code == close_code::none || code == close_code::going_away;
  }
  void end(std::string why) {
    if (std::exchange(over, true)) return;
    reason = std::move(why);
    io.stop();
  }

  void beat(WebSocket& owner) {
    timer.expires_after(chrono_of(owner.beat));
    timer.async_wait([this, &owner](error_code error) {
      if (error || over) return;
      if (owner.on_beat) owner.on_beat();
      if (over) return;
      ping();
      beat(owner);
    });
  }

  void ping() {
    if (closing || std::exchange(pinging, true)) return;
    stream.async_ping({}, [this](error_code error) {
      pinging = false;
      if (error && !closing) end(error);
    });
  }

  void wait(int descriptor, Wait what) {
    auto kind = what == Wait::kReadable ? asio::posix::stream_descriptor::wait_read
                                        : asio::posix::stream_descriptor::wait_write;
    watched.at(descriptor).file.async_wait(kind, [this, descriptor, what](error_code error) {
      // "Not supported": a file that is always ready.
      if (over || error == asio::error::operation_aborted) return;
      auto found = watched.find(descriptor);
      if (found == watched.end()) return;
      std::function<void()> then = std::exchange(found->second.then[what], nullptr);
      if (then) then();
    });
  }

  asio::io_context io{1};
  Stream stream;
  asio::steady_timer timer{io};
  Descriptor hang_up;
  beast::flat_buffer buffer;
  std::deque<Queued> queue;
  std::map<int, Watched> watched;
  size_t unsent = 0;
  bool reading = false;
  bool writing = false;
  bool pinging = false;
  bool held = false;
  bool closing = false;
  bool said_goodbye = false;
  bool over = false;
  std::string reason;
};

WebSocket::WebSocket(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
WebSocket::~WebSocket() = default;

Status WebSocket::check(const Request& request) {
  const std::string* version = find_header(request.headers, "sec-websocket-version");
  bool good = request.method == Method::kGet && has_token(request.headers, "upgrade", "websocket") &&
              has_token(request.headers, "connection", "upgrade") && version != nullptr && *version == "13" &&
              find_header(request.headers, "sec-websocket-key") != nullptr;
  if (good) return {};
  return Error{.code = Code::kInvalid,
               .message = "this is a WebSocket, and the request asks for none",
               .field = "Upgrade",
               .allowed = "websocket, version 13 (RFC 6455)",
               .to_do = "use `moulin exec`, or a client that speaks WebSocket"};
}

Result<std::unique_ptr<WebSocket>> WebSocket::accept(TakenOver connection, const Request& request) try {
  if (!connection.read_ahead.empty()) {
    return Error{.code = Code::kInvalid, .message = "the client speaks before the handshake is over"};
  }
  auto made = std::make_unique<Implementation>(std::move(connection.socket));
  beast::http::request<beast::http::empty_body> handshake(beast::http::verb::get, "/", 11);
  for (const Header& header : request.headers) handshake.insert(header.name, header.value);
  error_code error;
  // Only the asynchronous ones know a limit to time: a client may take nothing.
  bool answered = false;
  made->stream.async_accept(handshake, [&](error_code result) {
    error = result;
    answered = true;
  });
  made->run_until(answered);
  if (error) return broken("the handshake failed", error);
  made->limit_handshake(beast::websocket::stream_base::none());
  return std::unique_ptr<WebSocket>(new WebSocket(std::move(made)));
} catch (const boost::system::system_error& failed) {
  return broken("no WebSocket can be had", failed.code());  // no descriptor is left for its loop
}

Result<std::unique_ptr<WebSocket>> WebSocket::connect(const Endpoint& endpoint, const std::string& target,
                                                      const std::string& token) try {
  const TcpAddress* tcp = std::get_if<TcpAddress>(&endpoint.address);
  Descriptor socket =
      TRY(tcp != nullptr ? connect_tcp(*tcp, kHandshake) : connect_unix(std::get<std::string>(endpoint.address)));
  auto made = std::make_unique<Implementation>(std::move(socket));
  made->stream.set_option(beast::websocket::stream_base::decorator([&](beast::websocket::request_type& request) {
    if (!token.empty()) request.set(beast::http::field::authorization, "Bearer " + token);
  }));
  beast::websocket::response_type answer;
  error_code error;
  // The asynchronous one gives a refusal to read, too.
  bool answered = false;
  made->stream.async_handshake(answer, host_of(endpoint), endpoint.base_path + target, [&](error_code result) {
    error = result;
    answered = true;
  });
  made->run_until(answered);
  if (error == beast::websocket::error::upgrade_declined) {
    Result<Response> refused = successful(Response{.status = static_cast<int>(answer.result_int()),
                                                   .content_type = "application/problem+json",
                                                   .body = answer.body()});
    if (!refused) return refused.error();
  }
  if (error) return broken("the server does not answer as a WebSocket does", error);
  return std::unique_ptr<WebSocket>(new WebSocket(std::move(made)));
} catch (const boost::system::system_error& failed) {
  return broken("no WebSocket can be had", failed.code());
}

void WebSocket::send(Kind kind, std::string bytes) {
  if (implementation_->closing) return;
  implementation_->unsent += bytes.size();
  implementation_->queue.push_back({.kind = kind, .bytes = std::move(bytes)});
  implementation_->write(*this);
}

size_t WebSocket::unsent() const { return implementation_->unsent; }

void WebSocket::read_on(Reading reading) {
  bool was_held = std::exchange(implementation_->held, reading == Reading::kHeld);
  // Who does not read hears of the end in no other way.
  bool watches = implementation_->held && !was_held && implementation_->hang_up.number() >= 0;
  if (watches) {
    when(implementation_->hang_up.number(), Wait::kReadable, [this] {
      if (implementation_->held) implementation_->end("the other side has hung up");
    });
  }
  implementation_->read(*this);
}

void WebSocket::when(int descriptor, Wait wait, std::function<void()> then) {
  auto watched = implementation_->watched.find(descriptor);
  if (watched == implementation_->watched.end()) {
    Descriptor own(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
    error_code error(own.number() < 0 ? errno : 0, boost::system::system_category());
    asio::posix::stream_descriptor file(implementation_->io);
    if (!error) file.assign(own.number(), error);
    if (error) return implementation_->end("it cannot be waited for: " + error.message());
    own.release();
    watched = implementation_->watched.emplace(descriptor, Implementation::Watched{.file = std::move(file)}).first;
  }
  bool waits = watched->second.then[wait] != nullptr;
  watched->second.then[wait] = std::move(then);
  if (!waits) implementation_->wait(descriptor, wait);
}

void WebSocket::forget(int descriptor) { implementation_->watched.erase(descriptor); }

void WebSocket::close() {
  if (std::exchange(implementation_->closing, true)) return;
  implementation_->write(*this);
}

void WebSocket::stop() { implementation_->io.stop(); }

std::string WebSocket::run() {
  implementation_->read(*this);
  implementation_->write(*this);
  implementation_->beat(*this);
  // A descriptor that is waited for must not keep us, nor may the lack of one end us.
  auto work = asio::make_work_guard(implementation_->io);
  implementation_->io.run();
  return implementation_->reason;
}

}  // namespace moulin
