#include "api/http_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "api/http_parser.h"
#include "api/http_target.h"
#include "api/problem.h"

namespace moulin {

namespace {

using Clock = std::chrono::steady_clock;
using Progress = ParseStep::Progress;

constexpr size_t kErrorBodyMax = 64 << 10;  // what is kept of a refusal

Error unreachable(std::string message) {
  return {.code = Code::kUnavailable,
          .message = std::move(message),
          .to_do = "look whether the server runs: `moulin doctor`"};
}

Error too_late() { return unreachable("the server did not answer in time"); }

bool is_safe_to_repeat(const HttpCall& call) {
  return call.method == Method::kGet || find_header(call.headers, "idempotency-key") != nullptr;
}

}  // namespace

// One request and its answer on a connected socket.
struct HttpClient::Conversation {
  enum class Wait { kReady, kTimeout, kWoken };

  const Descriptor& socket;
  const HttpClientOptions& options;
  Duration patience;
  bool may_wake = false;
  std::function<Flow(std::string_view)> on_piece;

  Clock::time_point deadline = Clock::now() + std::chrono::microseconds(patience.us);
  bool stopped = false;
  bool any_byte = false;
  AnswerHead head{};
  std::string error_body{};
  AnswerParser parser = new_parser();

  AnswerParser new_parser() {
    return AnswerParser([this](std::string_view piece) { take_piece(piece); });
  }

  void take_piece(std::string_view piece) {
    if (parser.head().status >= 400) {
      error_body.append(piece.substr(0, kErrorBodyMax - std::min(kErrorBodyMax, error_body.size())));
    } else if (!stopped) {
      stopped = on_piece(piece) == Flow::kStop;
    }
  }

  void extend() { deadline = Clock::now() + std::chrono::microseconds(patience.us); }

  Result<Wait> wait(short events) {
    for (;;) {  // ends by the deadline
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Wait::kTimeout;
      std::array<pollfd, 2> polled{pollfd{socket.number(), events, 0}, pollfd{options.wake_descriptor, POLLIN, 0}};
      const nfds_t count = may_wake && options.wake_descriptor >= 0 ? 2 : 1;
      const int ready = ::poll(polled.data(), count, static_cast<int>(std::min<int64_t>(left, 3'600'000)));
      if (ready < 0 && errno != EINTR) return unreachable(fmt::format("cannot wait: {}", std::strerror(errno)));
      if (ready <= 0) continue;
      if (count == 2 && polled[1].revents != 0) return Wait::kWoken;
      return Wait::kReady;
    }
  }

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else if (errno == EAGAIN) {
        if (TRY(wait(POLLOUT)) != Wait::kReady) return too_late();
      } else if (errno == EPIPE || errno == ECONNRESET) {
        return {};  // refused while we sent: the answer says why, or its absence does
      } else if (errno != EINTR) {
        return unreachable(fmt::format("cannot send: {}", std::strerror(errno)));
      }
    }
    return {};
  }

  // Parses what arrived; true when the answer is complete or nobody wants the rest.
  Result<bool> parse(std::string& in) {
    while (!stopped) {
      const ParseStep step = parser.feed(in);
      in.erase(0, step.taken);
      switch (step.progress) {
        case Progress::kNeedMore: return stopped;
        case Progress::kHead: break;
        case Progress::kDone:
          head = parser.head();
          if (head.status >= 200) return true;
          parser = new_parser();  // 100 Continue: the answer follows
          break;
        case Progress::kFailed:
          return Error{.code = Code::kInternal, .message = "what the server says is " + parser.failure().error.message};
      }
    }
    return true;
  }

  Result<StreamEnd> receive() {
    std::array<char, 16384> piece;
    std::string in;
    for (;;) {  // ends by the deadline, or by silence of a stream
      const ssize_t count = ::recv(socket.number(), piece.data(), piece.size(), 0);
      if (count > 0) {
        any_byte = true;
        if (may_wake) extend();
        in.append(piece.data(), static_cast<size_t>(count));
        if (TRY(parse(in))) return stopped ? StreamEnd::kStopped : StreamEnd::kFinished;
      } else if (count == 0 || errno == ECONNRESET) {
        if (parser.feed_end().progress == Progress::kDone) {
          head = parser.head();
          head.keeps_alive = false;
          return StreamEnd::kFinished;
        }
        return unreachable("the server closed the connection in the middle of its answer");
      } else if (errno == EAGAIN) {
        const Wait waited = TRY(wait(POLLIN));
        if (waited == Wait::kTimeout) return too_late();
        if (waited == Wait::kWoken) return StreamEnd::kWoken;
      } else if (errno != EINTR) {
        return unreachable(fmt::format("cannot receive: {}", std::strerror(errno)));
      }
    }
  }
};

HttpClient::HttpClient(Endpoint endpoint, HttpClientOptions options)
    : endpoint_(std::move(endpoint)), options_(std::move(options)) {}

Status HttpClient::connect() {
  if (const auto* tcp = std::get_if<TcpAddress>(&endpoint_.address)) {
    socket_ = TRY(connect_tcp(*tcp, options_.connect_time));
  } else {
    socket_ = TRY(connect_unix(std::get<std::string>(endpoint_.address)));
  }
  return {};
}

std::string HttpClient::encode(const HttpCall& call) const {
  std::string bytes = fmt::format("{} {}{}", to_text(call.method), endpoint_.base_path, call.path);
  char separator = '?';
  for (const QueryItem& item : call.query) {
    bytes += fmt::format("{}{}={}", separator, encode_percent(item.name), encode_percent(item.value));
    separator = '&';
  }
  bytes += fmt::format(" HTTP/1.1\r\nHost: {}\r\nUser-Agent: moulin\r\n", host_of(endpoint_));
  if (!options_.token.empty()) bytes += fmt::format("Authorization: Bearer {}\r\n", options_.token);
  for (const Header& header : call.headers) bytes += fmt::format("{}: {}\r\n", header.name, header.value);
  if (!call.body.empty()) bytes += "Content-Type: application/json\r\n";
  if (call.method != Method::kGet) bytes += fmt::format("Content-Length: {}\r\n", call.body.size());
  return bytes + "\r\n" + call.body;
}

Result<Response> HttpClient::send(const HttpCall& call) {
  const std::string bytes = encode(call);
  for (int round = 0; round < 2; ++round) {
    const bool is_kept = static_cast<bool>(socket_);
    if (!is_kept) TRY(connect());
    Response response;
    bool too_large = false;
    Conversation conversation{.socket = socket_,
                              .options = options_,
                              .patience = options_.answer_time,
                              .on_piece = [&](std::string_view piece) {
                                response.body.append(piece);
                                too_large = response.body.size() > static_cast<size_t>(options_.answer.count);
                                return too_large ? Flow::kStop : Flow::kContinue;
                              }};
    const Status sent = conversation.send(bytes);
    const Result<StreamEnd> end = sent ? conversation.receive() : Result<StreamEnd>(sent.error());
    if (!end || too_large || !conversation.head.keeps_alive) socket_ = {};
    if (!end && is_kept && !conversation.any_byte && is_safe_to_repeat(call)) continue;
    if (!end) return end.error();
    if (too_large) {
      return Error{.code = Code::kTooLarge,
                   .message = "the server's answer is too large",
                   .allowed = "at most " + to_text(options_.answer)};
    }
    response.status = conversation.head.status;
    response.headers = std::move(conversation.head.headers);
    if (response.status >= 400) response.body = std::move(conversation.error_body);
    const std::string* type = find_header(response.headers, "content-type");
    response.content_type = type == nullptr ? "" : *type;
    return response;
  }
  return unreachable("the server closes every connection");
}

Result<StreamEnd> HttpClient::stream(const HttpCall& call, std::function<Flow(std::string_view)> on_piece) {
  TRY(connect());  // a kept connection may have gone stale, and a stream can't be sent twice
  Conversation conversation{.socket = socket_,
                            .options = options_,
                            .patience = options_.silence_time,
                            .may_wake = true,
                            .on_piece = std::move(on_piece)};
  const Status sent = conversation.send(encode(call));
  const Result<StreamEnd> end = sent ? conversation.receive() : Result<StreamEnd>(sent.error());
  if (!end || *end != StreamEnd::kFinished || !conversation.head.keeps_alive) socket_ = {};
  if (end && conversation.head.status >= 400) return error_of_answer(conversation.head.status, conversation.error_body);
  return end;
}

Result<Response> successful(Result<Response> answer) {
  if (answer && answer->status >= 400) return error_of_answer(answer->status, answer->body);
  return answer;
}

Result<Endpoint> parse_endpoint(std::string_view url) {
  Endpoint endpoint;
  if (url.starts_with("unix:")) {
    endpoint.address = std::string(url.substr(5));
    return endpoint;
  }
  Error bad{.code = Code::kInvalid,
            .message = "not an address of a Moulin server",
            .field = "url",
            .given = std::string(url),
            .allowed = "http://127.0.0.1:PORT, http://[::1]:PORT or unix:PATH"};
  if (!url.starts_with("http://")) return bad;
  const std::string_view rest = url.substr(7);
  const size_t slash = std::min(rest.find('/'), rest.size());
  const Result<HostAndPort> host = parse_host(rest.substr(0, slash));
  const Result<std::string> base_path = parse_base_path(rest.substr(slash));
  if (!host || !base_path) return bad;
  if (!is_loopback_name(host->host)) {
    bad.message = "a token is not sent to another machine without TLS, which this client does not speak yet";
    bad.to_do = "forward a local port: ssh -L 8080:127.0.0.1:8080 HOST";
    return bad;
  }
  endpoint.address = TcpAddress{.host = host->host, .port = host->port.value_or(80)};
  endpoint.base_path = *base_path;
  return endpoint;
}

std::string host_of(const Endpoint& endpoint) {
  const auto* tcp = std::get_if<TcpAddress>(&endpoint.address);
  if (tcp == nullptr) return "localhost";
  const bool is_six = tcp->host.find(':') != std::string::npos;
  return fmt::format("{}:{}", is_six ? "[" + tcp->host + "]" : tcp->host, tcp->port);
}

std::string to_text(const Endpoint& endpoint) {
  if (const auto* path = std::get_if<std::string>(&endpoint.address)) return "unix:" + *path;
  return fmt::format("http://{}{}", host_of(endpoint), endpoint.base_path);
}

}  // namespace moulin
