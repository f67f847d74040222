// layers: api
// One request as bytes from a socket: whatever they are, the parsers neither crash nor
// let through what they promise to refuse, and cutting the bytes elsewhere changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/http_parser.h"
#include "api/http_target.h"
#include "api/operations.h"
#include "base/check.h"
#include "base/text.h"

namespace moulin {
namespace {

constexpr HttpLimits kLimits{.body = Bytes{256}, .header = Bytes{1024}, .header_count = 16, .target = Bytes{512}};

struct Parsed {
  ParseStep::Progress progress = ParseStep::Progress::kNeedMore;
  std::string target{};
  Headers headers{};
  std::string body{};
  bool operator==(const Parsed&) const = default;
};

Parsed parse(std::string_view bytes, size_t piece) {
  RequestParser parser(kLimits);
  Parsed parsed;
  std::string waiting;
  do {
    waiting.append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    ParseStep step;
    do {
      step = parser.feed(waiting);
      MOULIN_CHECK(step.taken <= waiting.size());
      waiting.erase(0, step.taken);
    } while (step.progress == ParseStep::Progress::kHead);
    parsed.progress = step.progress;
  } while (parsed.progress == ParseStep::Progress::kNeedMore && !bytes.empty());
  if (parsed.progress == ParseStep::Progress::kDone) {
    parsed.target = parser.head().target;
    parsed.headers = parser.head().headers;
    parsed.body = parser.take_body();
  }
  return parsed;
}

void check_target(const Parsed& parsed) {
  const Result<Target> target = parse_target(parsed.target, "");
  if (!target) return;
  Request request{.segments = target->segments, .query = target->query, .headers = parsed.headers};
  for (const std::string& segment : target->segments) {
    MOULIN_CHECK(!segment.empty() && segment != "." && segment != ".." && is_utf8(segment));
    MOULIN_CHECK(segment.find('/') == std::string::npos && segment.find('\0') == std::string::npos);
    const Result<std::string> again = decode_percent(encode_percent(segment), Plus::kKept);
    MOULIN_CHECK(again && *again == segment);
  }
  const auto match = wire::match_route(wire::routes(), request);
  if (match && match->operation == wire::Operation::kListWorkloads) {
    (void)wire::read_parameters<wire::ListWorkloads>(match->values, request);
  }
  if (match && match->operation == wire::Operation::kReadWorkloadLogs) {
    (void)wire::read_parameters<wire::ReadWorkloadLogs>(match->values, request);
  }
}

}  // namespace
}  // namespace moulin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Parsed whole = parse(bytes, bytes.size() + 1);
  if (whole.progress == ParseStep::Progress::kDone) {
    MOULIN_CHECK(parse(bytes, 1) == whole);
    MOULIN_CHECK(static_cast<int64_t>(whole.body.size()) <= kLimits.body.count);
    MOULIN_CHECK(static_cast<int64_t>(whole.headers.size()) <= kLimits.header_count);
    for (const Header& header : whole.headers) MOULIN_CHECK(is_utf8(header.value));
    if (check_host(whole.headers, {})) {
      MOULIN_CHECK(parse_host(*find_header(whole.headers, "host")).has_value());
    }
    (void)check_origin(whole.headers, {});
    check_target(whole);
  }
  return 0;
}
