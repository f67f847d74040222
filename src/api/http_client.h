// A blocking HTTP client for programs that do one thing at a time, as the command line.
//
//   HttpClient client(TRY(parse_endpoint("http://127.0.0.1:8080")), {.token = token});
//   Response answer = TRY(client.send({.path = "/api/v1/nodes"}));
//
// One thread. Keeps its connection for the next request. It starts in well under a
// millisecond: no resolver, no TLS, no threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "api/http_types.h"
#include "api/socket.h"
#include "base/instant.h"
#include "base/result.h"

namespace moulin {

// Where a server is: a TCP address or the path of its UNIX socket.
struct Endpoint {
  std::variant<TcpAddress, std::string> address{};
  std::string base_path{};
};

// "http://127.0.0.1:8080/moulin" or "unix:/home/u/.moulin/socket". Other hosts than
// loopback ones are refused: there is no TLS here.
Result<Endpoint> parse_endpoint(std::string_view url);
std::string to_text(const Endpoint& endpoint);
std::string host_of(const Endpoint& endpoint);  // for the header Host

struct HttpClientOptions {
  std::string token{};  // sent as "Authorization: Bearer ..." unless empty
  Duration connect_time = seconds(5);
  Duration answer_time = seconds(60);   // from the request sent to the answer complete
  Duration silence_time = seconds(60);  // of a stream: more than its heartbeats are apart
  Bytes answer = mebibytes(256);        // largest body that send() holds
  // A stream ends when this descriptor becomes readable, e.g. a signalfd. -1: none.
  int wake_descriptor = -1;
};

struct HttpCall {
  Method method = Method::kGet;
  std::string path{};              // encoded, without the base path
  std::vector<QueryItem> query{};  // not encoded
  Headers headers{};
  std::string body{};  // JSON
};

enum class Flow { kContinue, kStop };

enum class StreamEnd {
  kFinished,  // the server ended it in good order
  kStopped,   // the callback asked for it
  kWoken,     // the wake descriptor is readable
};

class HttpClient {
 public:
  HttpClient(Endpoint endpoint, HttpClientOptions options);

  // Any answer, also one of 400 or above, is a value. Errors: kUnavailable when no
  // server answers, in time or at all; kInternal when what it says is no HTTP.
  // Sent a second time, once, when a kept connection turns out closed, and only if
  // that cannot do the thing twice: GET, or with an Idempotency-Key.
  Result<Response> send(const HttpCall& call);

  // Hands on the body piece by piece until it ends. An answer of 400 or above is the
  // Error of its problem document. A stream that breaks off is kUnavailable.
  Result<StreamEnd> stream(const HttpCall& call, std::function<Flow(std::string_view)> on_piece);

 private:
  struct Conversation;

  Status connect();
  std::string encode(const HttpCall& call) const;

  Endpoint endpoint_;
  HttpClientOptions options_;
  Descriptor socket_;
};

// The answer itself when it is below 400, else the Error of its problem document.
Result<Response> successful(Result<Response> answer);

}  // namespace moulin
