#include "api/http_parser.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

namespace moulin {
namespace {

using Progress = ParseStep::Progress;

// Feeds in pieces of `size` bytes as a socket would; gives the last progress.
Progress feed(RequestParser& parser, std::string bytes, size_t size) {
  std::string waiting;
  Progress last = Progress::kNeedMore;
  while (!bytes.empty() || last == Progress::kHead) {
    waiting += bytes.substr(0, size);
    bytes.erase(0, size);
    do {
      const ParseStep step = parser.feed(waiting);
      waiting.erase(0, step.taken);
      last = step.progress;
      if (last == Progress::kDone || last == Progress::kFailed) return last;
    } while (last == Progress::kHead);
  }
  return last;
}

int status_of(const std::string& bytes, const HttpLimits& limits = {}) {
  RequestParser parser(limits);
  if (feed(parser, bytes, bytes.size()) != Progress::kFailed) return 0;
  CHECK_FALSE(parser.failure().error.message.empty());
  return parser.failure().status;
}

}  // namespace

TEST_CASE("a request is the same however its bytes were cut") {
  const std::string plain = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Odd:  two words \r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Odd: two words\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nhe\r\n3;note=1\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n";
  for (const std::string& bytes : {plain, chunked}) {
    for (size_t size = 1; size <= bytes.size(); ++size) {
      RequestParser parser(HttpLimits{});
      REQUIRE(feed(parser, bytes, size) == Progress::kDone);
      CHECK(parser.head().method == "POST");
      CHECK(parser.head().target == "/a?b=c");
      CHECK(*find_header(parser.head().headers, "x-odd") == "two words");
      CHECK(find_header(parser.head().headers, "x-trailer") == nullptr);
      CHECK(parser.take_body() == "hello");
    }
  }
}

TEST_CASE("bytes of the next request are left alone") {
  RequestParser parser(HttpLimits{});
  const std::string two = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\n";
  CHECK(parser.feed(two).progress == Progress::kHead);
  const ParseStep done = parser.feed("GET /2 HTTP/1.1\r\n");
  CHECK(done.progress == Progress::kDone);
  CHECK(done.taken == 0);
}

TEST_CASE("what is malformed or could hide a second request is refused") {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  CHECK(status_of("\x16\x03\x01\x02") == 400);  // a TLS greeting
  CHECK(status_of("GET / HTTP/2.0\r\n\r\n") == 505);
  CHECK(status_of("GET /\x01 HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of(std::string("GET /\0 HTTP/1.1\r\n\r\n", 19)) == 400);
  CHECK(status_of(head + std::string("X: a\0b\r\n\r\n", 10)) == 400);
  CHECK(status_of(head + "X: \xff\xfe\r\n\r\n") == 400);
  CHECK(status_of(head + "X y: 1\r\n\r\n") == 400);
  CHECK(status_of(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
  CHECK(status_of(head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n") == 400);
  CHECK(status_of(head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n") == 400);
  CHECK(status_of(head + "Content-Length: -1\r\n\r\n") == 400);
  CHECK(status_of(head + "Content-Length: 99999999999999999999\r\n\r\n") == 400);
  CHECK(status_of(head + "Transfer-Encoding: gzip, chunked\r\n\r\n") == 501);
  CHECK(status_of(head + "Transfer-Encoding: identity\r\n\r\n") == 501);
  CHECK(status_of(head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n") == 400);
  CHECK(status_of(head + "Expect: a miracle\r\n\r\n") == 417);
}

TEST_CASE("each limit has its own status, at the edge") {
  const HttpLimits limits{.body = Bytes{10}, .header = Bytes{400}, .header_count = 3, .target = Bytes{20}};
  const auto with_length = [](int64_t n) {
    return fmt::format("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", n);
  };
  CHECK(status_of(with_length(10), limits) == 0);
  CHECK(status_of(with_length(11), limits) == 413);
  CHECK(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\n", limits) == 413);
  CHECK(status_of("GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits) == 0);
  CHECK(status_of("GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", limits) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nA: " + std::string(400, 'x'), limits) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nA: " + std::string(200, 'x') + "\r\nB: " + std::string(200, 'x') + "\r\n",
                  limits) == 431);
  CHECK(status_of("GET /" + std::string(19, 'a') + " HTTP/1.1\r\n\r\n", limits) == 0);
  CHECK(status_of("GET /" + std::string(20, 'a') + " HTTP/1.1\r\n\r\n", limits) == 414);
  CHECK(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(500, 'x'), limits) == 431);
}

TEST_CASE("an answer may end with its length, its chunks or the connection") {
  std::string body;
  const auto parser = [&] {
    body.clear();
    return AnswerParser([&](std::string_view piece) { body += piece; });
  };
  AnswerParser with_length = parser();
  std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  const ParseStep head = with_length.feed(bytes);
  CHECK(head.progress == Progress::kHead);
  CHECK(with_length.feed(std::string_view(bytes).substr(head.taken)).progress == Progress::kDone);
  CHECK(with_length.head().status == 200);
  CHECK(body == "hi");

  AnswerParser to_end = parser();
  bytes = "HTTP/1.0 200 OK\r\n\r\n";
  CHECK(to_end.feed(bytes).progress == Progress::kHead);
  CHECK(to_end.feed("hi").progress == Progress::kNeedMore);
  CHECK(to_end.feed_end().progress == Progress::kDone);
  CHECK(body == "hi");

  AnswerParser cut = parser();
  CHECK(cut.feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").progress == Progress::kHead);
  CHECK(cut.feed_end().progress == Progress::kFailed);
}

}  // namespace moulin
