// A request and its answer as plain data. Nothing here knows a socket or a library.
//
// Handlers see only these types and those of http_responder.h, so that they run the
// same under the real server, in a simulation and in a unit test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/share.h"

namespace moulin {

// HEAD reaches a handler as kGet; the server keeps the body back. What is none of these
// is kOther: no route takes it, and the 405 names those that the path has.
enum class Method { kGet, kPost, kPut, kPatch, kDelete, kOther };
std::string_view to_text(Method method);

struct Header {
  std::string name;   // on a received message in lower case
  std::string value;  // valid UTF-8, no control characters but tab
  bool operator==(const Header&) const = default;
};
using Headers = std::vector<Header>;

// The first header of that name (any case), or nullptr.
const std::string* find_header(const Headers& headers, std::string_view name);

// One "name=value" of a query, both decoded. A name without "=" has an empty value.
struct QueryItem {
  std::string name;
  std::string value;
  bool operator==(const QueryItem&) const = default;
};

// Who is at the other end of the connection.
struct Peer {
  enum class Transport { kTcp, kUnix };
  Transport transport = Transport::kTcp;
  std::string address;               // "127.0.0.1:40112", or "unix"
  std::optional<int64_t> user_id{};  // of the process that connected, on a UNIX socket only
  std::optional<int64_t> process_id{};
};

// A complete, checked request: decoded, of bounded size, from an allowed host and origin.
struct Request {
  Method method = Method::kGet;
  // The path below the server's base path, decoded: "/api/v1/nodes" is {"api", "v1", "nodes"}.
  // No segment is empty, ".", "..", holds '/' or control characters, or is not UTF-8.
  std::vector<std::string> segments{};
  std::vector<QueryItem> query{};
  Headers headers{};
  std::string body{};
  Peer peer{};
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";  // ignored when the body is empty
  Headers headers{};
  std::string body{};
};

// "Not Found" for 404; "Status" for a number that HTTP does not name.
std::string_view status_text(int status);

// Every bound of the server, in one place. A limit that is crossed is answered with the
// status in brackets, or the connection is closed.
struct HttpLimits {
  Bytes body = mebibytes(1);            // of one request [413, before the rest is read]
  Bytes header = kibibytes(32);         // request line and all header lines together [431]
  int64_t header_count = 100;           // [431]
  Bytes target = kibibytes(8);          // path and query as sent [414]
  int64_t connections = 1024;           // on all listeners [503 and close]
  int64_t event_streams = 256;          // open at a time [429]
  Bytes buffered = mebibytes(256);      // bodies and answers of all connections together [429]
  Bytes stream_queue = mebibytes(1);    // not yet sent on one stream [dropped]
  Duration request_time = seconds(30);  // first to last byte of one request [closed]
  Duration idle_time = seconds(75);     // between requests of a connection [closed]
  Duration write_stall = seconds(30);   // a reader that takes no byte for so long [closed]
  Duration answer_time = minutes(10);   // a handler that has not answered [503, a defect]
  Duration heartbeat = seconds(15);     // comment on a quiet event stream
  Duration linger = seconds(2);         // reading on after a refusal, so that it arrives
};

}  // namespace moulin
