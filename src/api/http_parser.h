// HTTP/1 messages out of bytes, as they come from a socket. No socket in here.
//
// Both parsers are fed the bytes that arrived and say how many they took. What they did
// not take must be given again, in front of what comes next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http_types.h"
#include "base/result.h"

namespace moulin {

struct ParseStep {
  enum class Progress {
    kNeedMore,  // feed again when more has arrived
    kHead,      // the head is complete: look at it, then feed the rest
    kDone,      // the message is complete; what was not taken belongs to the next
    kFailed,    // failure() says why; the connection is of no further use
  };
  Progress progress = Progress::kNeedMore;
  size_t taken = 0;
};

// Why a message was refused, with the status that fits best.
struct ParseFailure {
  int status = 400;
  Error error{};
};

struct RequestHead {
  std::string method;  // as sent
  std::string target;  // as sent, not decoded
  int version = 11;    // 10 or 11
  bool keeps_alive = true;
  bool expects_continue = false;
  bool has_body = false;
  Headers headers;  // names in lower case, values are UTF-8
};

// One request. Make a new parser for the next one.
// Refused besides what breaks HTTP's grammar: any transfer coding but chunked, both a
// length and a coding, different lengths, and everything beyond `limits`.
class RequestParser {
 public:
  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  ParseStep feed(std::string_view bytes);
  // After kHead, until take_head().
  RequestHead& head();
  // After kDone.
  std::string take_body();
  const ParseFailure& failure() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

struct AnswerHead {
  int status = 0;
  bool keeps_alive = true;
  Headers headers;  // names in lower case
};

// One answer; its body goes to `on_body` piece by piece, without bound.
class AnswerParser {
 public:
  explicit AnswerParser(std::function<void(std::string_view)> on_body);
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  ParseStep feed(std::string_view bytes);
  // The other end closed. kDone when that ends the message in good order, else kFailed.
  ParseStep feed_end();
  const AnswerHead& head() const;  // after kHead
  const ParseFailure& failure() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace moulin
