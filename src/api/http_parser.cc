#include "api/http_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/check.h"
#include "base/text.h"

namespace moulin {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using Text = boost::beast::string_view;
using Progress = ParseStep::Progress;

std::string_view view(Text text) { return {text.data(), text.size()}; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

ParseFailure failure_of(int status, Code code, std::string message, std::string allowed = {}) {
  return {.status = status, .error = {.code = code, .message = std::move(message), .allowed = std::move(allowed)}};
}

// The part that requests and answers share: Beast checks the grammar and calls back.
template <bool kIsRequest>
class Collector : public http::basic_parser<kIsRequest> {
 public:
  ParseStep feed(std::string_view bytes) {
    size_t taken = 0;
    while (!this->is_done()) {
      if (taken == bytes.size()) return {Progress::kNeedMore, taken};
      error_code error;
      taken += this->put(boost::asio::const_buffer(bytes.data() + taken, bytes.size() - taken), error);
      if (error == http::error::need_more && bytes.size() - taken <= waiting_max_) return {Progress::kNeedMore, taken};
      if (error) return fail(error, taken);
      if (!head_seen_ && this->is_header_done()) {
        head_seen_ = true;
        return {Progress::kHead, taken};
      }
    }
    return {Progress::kDone, taken};
  }

  ParseStep feed_end() {
    error_code error = http::error::partial_message;
    if (this->is_done()) return {Progress::kDone, 0};
    if (this->got_some()) this->put_eof(error);
    return error ? fail(error, 0) : ParseStep{Progress::kDone, 0};
  }

  const ParseFailure& failure() const { return failure_; }

 protected:
  void set_limits(const HttpLimits& limits) {
    limits_ = limits;
    waiting_max_ = static_cast<size_t>(limits.header.count);
    this->header_limit(static_cast<uint32_t>(limits.header.count));
  }

  // Ends the parse with a failure of our own.
  void refuse(ParseFailure failure, error_code& error) {
    failure_ = std::move(failure);
    has_failure_ = true;
    error = http::error::bad_value;
  }

  virtual void on_piece(std::string_view piece) = 0;
  virtual Headers& headers() = 0;

 private:
  ParseStep fail(error_code error, size_t taken) {
    if (!has_failure_) failure_ = explain(error);
    return {Progress::kFailed, taken};
  }

  ParseFailure explain(error_code error) {
    if (error == http::error::body_limit) {
      ParseFailure failure = failure_of(413, Code::kTooLarge, "the request body is too large",
                                        fmt::format("at most {}", moulin::to_text(limits_.body)));
      const std::string* length = find_header(headers(), "content-length");
      if (length != nullptr) failure.error.given = shortened(*length) + " bytes";
      failure.error.to_do = "send less at a time";
      return failure;
    }
    if (error == http::error::header_limit || error == http::error::need_more) {
      return failure_of(431, Code::kTooLarge, "the header is too large",
                        fmt::format("at most {}", moulin::to_text(limits_.header)));
    }
    if (error == http::error::bad_version) {
      return failure_of(505, Code::kInvalid, "not a version of HTTP that this server speaks", "HTTP/1.0, HTTP/1.1");
    }
    return failure_of(400, Code::kInvalid, fmt::format("not HTTP: {}", error.message()));
  }

  void on_field_impl(http::field, Text name, Text value, error_code& error) override {
    if (head_seen_) return;  // a trailer: read over, within the bound of waiting bytes
    header_bytes_ += static_cast<int64_t>(name.size() + value.size() + 4);
    if (header_bytes_ > limits_.header.count) {
      return refuse(failure_of(431, Code::kTooLarge, "the header is too large",
                               fmt::format("at most {}", moulin::to_text(limits_.header))),
                    error);
    }
    if (static_cast<int64_t>(headers().size()) >= limits_.header_count) {
      return refuse(
          failure_of(431, Code::kTooLarge, "too many header lines", fmt::format("at most {}", limits_.header_count)),
          error);
    }
    Header header{.name = lower(view(name)), .value = std::string(view(value))};
    if (!is_utf8(header.value)) {
      return refuse(failure_of(400, Code::kInvalid, fmt::format("the header '{}' is not UTF-8", header.name)), error);
    }
    if (header.name == "transfer-encoding" && lower(header.value) != "chunked") {
      return refuse(failure_of(501, Code::kInvalid, "an unknown transfer coding", "chunked"), error);
    }
    headers().push_back(std::move(header));
  }

  size_t on_body_impl(Text piece, error_code&) override {
    on_piece(view(piece));
    return piece.size();
  }
  size_t on_chunk_body_impl(uint64_t, Text piece, error_code&) override {
    on_piece(view(piece));
    return piece.size();
  }
  void on_chunk_header_impl(uint64_t, Text, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  HttpLimits limits_{};
  size_t waiting_max_ = 0;
  int64_t header_bytes_ = 0;
  bool head_seen_ = false;
  bool has_failure_ = false;
  ParseFailure failure_{};
};

}  // namespace

struct RequestParser::Implementation final : Collector<true> {
  explicit Implementation(const HttpLimits& limits) : target_max(static_cast<size_t>(limits.target.count)) {
    set_limits(limits);
    body_limit(static_cast<uint64_t>(limits.body.count));
  }

  RequestHead request{};
  std::string body{};
  size_t target_max = 0;

 private:
  void on_piece(std::string_view piece) override { body.append(piece); }
  Headers& headers() override { return request.headers; }

  void on_request_impl(http::verb, Text method, Text target, int version, error_code& error) override {
    if (target.size() > target_max) {
      return refuse(
          failure_of(414, Code::kTooLarge, "the target is too long", fmt::format("at most {} bytes", target_max)),
          error);
    }
    request.method = view(method);
    request.target = view(target);
    request.version = version;
  }
  void on_response_impl(int, Text, int, error_code&) override {}

  void on_header_impl(error_code& error) override {
    request.keeps_alive = keep_alive();
    request.has_body = !is_done();
    const std::string* expect = find_header(request.headers, "expect");
    if (expect == nullptr) return;
    if (lower(*expect) != "100-continue") {
      return refuse(failure_of(417, Code::kInvalid, "an unknown expectation", "100-continue"), error);
    }
    request.expects_continue = true;
  }
  void on_body_init_impl(const boost::optional<uint64_t>& length, error_code&) override {
    if (length) body.reserve(static_cast<size_t>(*length));  // the limit was checked before
  }
};

RequestParser::RequestParser(const HttpLimits& limits) : implementation_(std::make_unique<Implementation>(limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

ParseStep RequestParser::feed(std::string_view bytes) { return implementation_->feed(bytes); }
RequestHead& RequestParser::head() { return implementation_->request; }
std::string RequestParser::take_body() { return std::move(implementation_->body); }
const ParseFailure& RequestParser::failure() const { return implementation_->failure(); }

struct AnswerParser::Implementation final : Collector<false> {
  explicit Implementation(std::function<void(std::string_view)> sink) : on_body(std::move(sink)) {
    set_limits({});
    body_limit(std::numeric_limits<uint64_t>::max());  // "none" would refuse every length in Boost 1.74
  }

  AnswerHead answer{};
  std::function<void(std::string_view)> on_body;

 private:
  void on_piece(std::string_view piece) override { on_body(piece); }
  Headers& headers() override { return answer.headers; }
  void on_request_impl(http::verb, Text, Text, int, error_code&) override {}
  void on_response_impl(int status, Text, int, error_code&) override { answer.status = status; }
  void on_header_impl(error_code&) override { answer.keeps_alive = keep_alive(); }
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
};

AnswerParser::AnswerParser(std::function<void(std::string_view)> on_body)
    : implementation_(std::make_unique<Implementation>(std::move(on_body))) {}
AnswerParser::~AnswerParser() = default;
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;

ParseStep AnswerParser::feed(std::string_view bytes) { return implementation_->feed(bytes); }
ParseStep AnswerParser::feed_end() { return implementation_->feed_end(); }
const AnswerHead& AnswerParser::head() const { return implementation_->answer; }
const ParseFailure& AnswerParser::failure() const { return implementation_->failure(); }

}  // namespace moulin
