#include "api/problem.h"

#include <doctest/doctest.h>

namespace moulin {

TEST_CASE("an error survives the way to the client and back") {
  const Error error{.code = Code::kRefused,
                    .message = "no node has a GPU of that model",
                    .field = "resources.gpu_model",
                    .given = "B300",
                    .allowed = "H100-80GB, A100-40GB",
                    .to_do = "choose one of these"};
  const Response response = problem_response(error);
  CHECK(response.status == 422);
  CHECK(response.content_type == kProblemType);
  CHECK(error_of_answer(response.status, response.body) == error);
  CHECK(find_header(response.headers, "retry-after") == nullptr);
}

TEST_CASE("each code has its status and its headers") {
  CHECK(problem_response({.code = Code::kTooMany, .message = "full"}).status == 429);
  CHECK(find_header(problem_response({.code = Code::kTooMany, .message = "full"}).headers, "Retry-After") != nullptr);
  CHECK(find_header(problem_response({.code = Code::kUnavailable, .message = "x"}).headers, "Retry-After") != nullptr);
  CHECK(*find_header(problem_response({.code = Code::kUnauthenticated, .message = "x"}).headers, "www-authenticate") ==
        "Bearer");
  const Response small = problem_response({.code = Code::kTooLarge, .message = "x"}, 431);
  CHECK(small.status == 431);
  CHECK(small.body.find("\"status\":431") != std::string::npos);
  CHECK(error_of_answer(431, small.body).code == Code::kTooLarge);
}

TEST_CASE("an answer that is not ours still gives a usable error") {
  const Error error = error_of_answer(502, "<html>\n<h1>Bad Gateway</h1>");
  CHECK(error.code == Code::kUnavailable);
  CHECK(error.given == "<html>");
  CHECK(error.message.find("502") != std::string::npos);
  CHECK(error_of_answer(418, "").code == Code::kInvalid);
  CHECK(error_of_answer(500, R"({"detail": 7})").code == Code::kInternal);
}

}  // namespace moulin
