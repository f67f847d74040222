#include "base/result.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>

namespace moulin {
namespace {

Error refusal(std::string message) { return {.code = Code::kRefused, .message = std::move(message)}; }

Result<int> half(int number) {
  if (number % 2 != 0) return refusal("odd");
  return number / 2;
}
Result<int> quarter(int number) {
  int once = TRY(half(number));
  return TRY(half(once));
}
Status check_even(int number) {
  if (number % 2 != 0) return refusal("odd");
  return {};
}
Result<std::string> describe_even(int number) {
  TRY(check_even(number));
  return "even";
}
Result<std::unique_ptr<int>> boxed(int number) {
  if (number < 0) return refusal("negative");
  return std::make_unique<int>(number);
}
Result<int> unboxed(int number) {
  std::unique_ptr<int> box = TRY(boxed(number));
  return *box;
}

}  // namespace

TEST_CASE("TRY gives the value or returns the error") {
  CHECK(*quarter(12) == 3);
  CHECK(quarter(6).error() == refusal("odd"));
  CHECK(quarter(5).error() == refusal("odd"));
  CHECK(*describe_even(2) == "even");
  CHECK(describe_even(1).error().message == "odd");
}

TEST_CASE("TRY moves values that cannot be copied") {
  CHECK(*unboxed(7) == 7);
  CHECK_FALSE(unboxed(-1));
}

TEST_CASE("a status is good unless it has an error") {
  CHECK(Status{});
  CHECK_FALSE(Status{refusal("no")});
}

TEST_CASE("an error on one line leaves out what is empty") {
  Error error{.code = Code::kInvalid, .message = "not a share"};
  CHECK(error.to_text() == "not a share");
  error.field = "resources.gpu";
  CHECK(error.to_text() == "resources.gpu: not a share");
  error.given = "1.5";
  error.allowed = "up to 1";
  error.to_do = "ask for two devices";
  CHECK(error.to_text() == "resources.gpu: not a share; given: 1.5; allowed: up to 1; to do: ask for two devices");
}

TEST_CASE("every code has a word of its own") {
  std::set<std::string_view> words;
  for (Code code : {Code::kInvalid, Code::kUnauthenticated, Code::kForbidden, Code::kNotFound, Code::kConflict,
                    Code::kTooLarge, Code::kRefused, Code::kTooMany, Code::kInternal, Code::kUnavailable}) {
    words.insert(to_text(code));
  }
  CHECK(words.size() == 10);
  CHECK(words.contains("unauthenticated"));
}

}  // namespace moulin
