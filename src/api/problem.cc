#include "api/problem.h"

#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace moulin {

namespace {

constexpr std::string_view kTypePrefix = "urn:moulin:problem:";

constexpr std::array kCodes{Code::kInvalid,  Code::kUnauthenticated, Code::kForbidden, Code::kNotFound,
                            Code::kConflict, Code::kTooLarge,        Code::kRefused,   Code::kTooMany,
                            Code::kInternal, Code::kUnavailable};

std::string text_member(const Json& document, std::string_view key) {
  const Json* member = document.find(key);
  return member != nullptr && member->is_string() ? member->string() : std::string{};
}

Code code_of_document(const Json& document, int status) {
  const std::string type = text_member(document, "type");
  for (const Code code : kCodes) {
    if (type == std::string(kTypePrefix).append(to_text(code))) return code;
  }
  return code_of_status(status);
}

}  // namespace

int http_status(Code code) {
  switch (code) {
    case Code::kInvalid: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kForbidden: return 403;
    case Code::kNotFound: return 404;
    case Code::kConflict: return 409;
    case Code::kTooLarge: return 413;
    case Code::kRefused: return 422;
    case Code::kTooMany: return 429;
    case Code::kInternal: return 500;
    case Code::kUnavailable: return 503;
  }
  MOULIN_UNREACHABLE();
}

Code code_of_status(int status) {
  for (const Code code : kCodes) {
    if (http_status(code) == status) return code;
  }
  if (status == 405) return Code::kNotFound;
  if (status == 414 || status == 431) return Code::kTooLarge;
  if (status == 421) return Code::kForbidden;
  if (status == 502 || status == 504) return Code::kUnavailable;
  return status >= 500 ? Code::kInternal : Code::kInvalid;
}

Json problem_document(const Error& error) {
  Json document = Json::object({{"type", std::string(kTypePrefix).append(to_text(error.code))},
                                {"title", to_text(error.code)},
                                {"status", http_status(error.code)},
                                {"detail", error.message}});
  const auto add = [&document](std::string_view key, const std::string& text) {
    if (!text.empty()) document.set(key, text);
  };
  add("field", error.field);
  add("given", error.given);
  add("allowed", error.allowed);
  add("to_do", error.to_do);
  return document;
}

Response problem_response(const Error& error) { return problem_response(error, http_status(error.code)); }

Response problem_response(const Error& error, int status) {
  Json document = problem_document(error);
  document.set("status", status);
  Response response{.status = status, .content_type = std::string(kProblemType), .body = write_json(document)};
  if (error.code == Code::kTooMany || error.code == Code::kUnavailable) {
    response.headers.push_back({"Retry-After", "1"});
  }
  if (error.code == Code::kUnauthenticated) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

Error error_of_answer(int status, std::string_view body) {
  const Result<Json> document = parse_json(body);
  if (!document || !document->is_object() || text_member(*document, "detail").empty()) {
    return {.code = code_of_status(status),
            .message = fmt::format("the server answered {} {} without a problem document", status, status_text(status)),
            .given = shortened(split(body, '\n').front())};
  }
  return {.code = code_of_document(*document, status),
          .message = text_member(*document, "detail"),
          .field = text_member(*document, "field"),
          .given = text_member(*document, "given"),
          .allowed = text_member(*document, "allowed"),
          .to_do = text_member(*document, "to_do")};
}

}  // namespace moulin
