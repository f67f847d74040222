// Errors as RFC 9457 problem documents, and back.
//
//   {"type": "urn:moulin:problem:invalid", "title": "invalid", "status": 400,
//    "detail": "not a share", "field": "resources.gpu", "given": "1.5",
//    "allowed": "a part of one device ...", "to_do": "..."}
//
// Empty parts are left out. Both directions are here, so that an Error reaches the
// person at the command line as it left the core.
#pragma once

#include <string_view>

#include "api/http_types.h"
#include "base/json.h"
#include "base/result.h"

namespace moulin {

inline constexpr std::string_view kProblemType = "application/problem+json";

// The HTTP status of each code, as base/result.h states it.
int http_status(Code code);
// The code whose reaction fits a status that is not ours (a proxy's 502, say).
Code code_of_status(int status);

Json problem_document(const Error& error);
// With Retry-After for kTooMany and kUnavailable, and WWW-Authenticate for kUnauthenticated.
Response problem_response(const Error& error);
// The same document under a status that HTTP has a better word for, e.g. 431.
Response problem_response(const Error& error, int status);

// The Error in the body of an answer of 400 or above. A body that is no problem
// document (a proxy's page) gives an Error that says so and holds its first line.
Error error_of_answer(int status, std::string_view body);

}  // namespace moulin
