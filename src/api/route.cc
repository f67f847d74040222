#include "api/route.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/http_target.h"
#include "api/problem.h"
#include "base/text.h"

namespace moulin::wire {

namespace {

bool is_placeholder(std::string_view segment) { return segment.starts_with('{'); }

std::vector<std::string_view> segments_of(std::string_view route_path) { return split(route_path.substr(1), '/'); }

std::string path_of(const Request& request) {
  std::string path;
  for (const std::string& segment : request.segments) path.append("/").append(segment);
  return path.empty() ? "/" : shortened(path);
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool has_needless_zero = text.size() > 1 && text.starts_with('0');
  return !text.empty() && !has_needless_zero && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

int agreement(std::string_view route_path, std::span<const std::string> segments) {
  int equal = 0;
  std::string_view rest = route_path;
  for (const std::string& segment : segments) {
    if (rest.empty()) return -1;
    rest.remove_prefix(1);  // the slash before each segment
    const std::string_view wanted = rest.substr(0, rest.find('/'));
    rest.remove_prefix(wanted.size());
    if (is_placeholder(wanted)) continue;
    if (wanted != segment) return -1;
    equal += 1;
  }
  return rest.empty() ? equal : -1;
}

PathValues path_values(std::string_view route_path, std::span<const std::string> segments) {
  PathValues values;
  const std::vector<std::string_view> wanted = segments_of(route_path);
  MOULIN_CHECK(wanted.size() == segments.size(), "the route agrees with the path");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (is_placeholder(wanted[i])) values.push_back(segments[i]);
  }
  return values;
}

Response no_such_path(const Request& request) {
  return problem_response({.code = Code::kNotFound,
                           .message = "no such path",
                           .field = "path",
                           .given = path_of(request),
                           .allowed = "the paths of docs/api.md, below /api/v1",
                           .to_do = "look for a typing error, or for a client newer than this server"});
}

Response no_such_method(const Request& request, const std::string& allow) {
  Response response =
      problem_response({.code = Code::kInvalid,
                        .message = fmt::format("{} has no {}", path_of(request), to_text(request.method)),
                        .field = "method",
                        .given = std::string(to_text(request.method)),
                        .allowed = allow},
                       405);
  response.headers.push_back({"Allow", allow});
  return response;
}

Json parameter_value(const std::string& text, Json::Type wanted) {
  if (wanted == Json::Type::kNumber && is_integer_text(text)) return JsonNumber{text};
  if (wanted == Json::Type::kBool && (text == "true" || text == "false")) return text == "true";
  return text;
}

std::string parameter_text(const Json& value) {
  if (value.is_string()) return value.string();
  return write_json(value);
}

Result<const std::string*> ParameterReader::take(std::string_view name) {
  known_.push_back(name);
  const std::string* found = nullptr;
  for (size_t i = 0; i < request_.query.size(); ++i) {
    if (request_.query[i].name != name) continue;
    if (found != nullptr) return too_many(name, 1);
    taken_[i] = true;
    found = &request_.query[i].value;
  }
  return found;
}

std::vector<std::string> ParameterReader::take_all(std::string_view name) {
  known_.push_back(name);
  std::vector<std::string> values;
  for (size_t i = 0; i < request_.query.size(); ++i) {
    if (request_.query[i].name != name) continue;
    taken_[i] = true;
    values.push_back(request_.query[i].value);
  }
  return values;
}

Error ParameterReader::too_many(std::string_view name, size_t count_max) {
  return {.code = Code::kInvalid,
          .message = "the parameter is given too often",
          .field = std::string(name),
          .allowed = fmt::format("at most {} time{}", count_max, count_max == 1 ? "" : "s")};
}

Status ParameterReader::finish() const {
  const auto stray = std::ranges::find(taken_, false);
  if (stray == taken_.end()) return {};
  const std::string& name = request_.query[static_cast<size_t>(stray - taken_.begin())].name;
  const std::string_view near = nearest_word(name, known_);
  const std::vector<std::string> known(known_.begin(), known_.end());
  return Error{.code = Code::kInvalid,
               .message = "unknown query parameter",
               .field = shortened(name, 100),
               .given = shortened(name),
               .allowed = known.empty() ? "none" : join(known, ", "),
               .to_do = near.empty() ? "remove it" : fmt::format("did you mean `{}`?", near)};
}

HttpCall ParameterWriter::finish() {
  size_t next = 0;
  for (const std::string_view segment : segments_of(route_path_)) {
    call_.path += '/';
    call_.path += is_placeholder(segment) ? encode_percent(values_.at(next++)) : std::string(segment);
  }
  return std::move(call_);
}

Result<Json> read_json_body(const Request& request) {
  if (request.body.empty()) {
    return Error{.code = Code::kInvalid, .message = "the body is missing", .field = "body", .allowed = "a JSON object"};
  }
  const std::string* type = find_header(request.headers, "content-type");
  const std::string_view essence = type == nullptr ? std::string_view{} : split(*type, ';').front();
  if (essence != "application/json") {
    return Error{.code = Code::kInvalid,
                 .message = "the body's type is not JSON",
                 .field = "Content-Type",
                 .given = type == nullptr ? "none" : shortened(*type),
                 .allowed = "application/json",
                 .to_do = "send the header `Content-Type: application/json`"};
  }
  Result<Json> body = parse_json(request.body);
  if (!body) return at_path("body", std::move(body).error());
  return body;
}

}  // namespace moulin::wire
