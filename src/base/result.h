// Expected failures as values.
//
//   Result<Share> parse_share(std::string_view text);
//   Share share = TRY(parse_share("0.25"));        // returns the Error to our caller
//
// A Result that is ignored is a compiler warning. Bugs are not Results: see check.h.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace moulin {

// One code for each different reaction of a caller. The HTTP status is in brackets.
enum class Code {
  kInvalid,          // the request is malformed: mend it                       [400]
  kUnauthenticated,  // no valid token: log in                                  [401]
  kForbidden,        // known, but not allowed: ask an administrator            [403]
  kNotFound,         // no such thing: check the name                           [404]
  kConflict,         // exists already, or in the wrong state: look, then retry [409]
  kTooLarge,         // above a size limit: send less                           [413]
  kRefused,          // well-formed, but can never run: change the request      [422]
  kTooMany,          // a rate or queue is full: retry after a pause            [429]
  kInternal,         // a defect or a broken file: report it                    [500]
  kUnavailable,      // the disk, the engine or the server cannot now: retry    [503]
};

std::string_view to_text(Code code);

// What went wrong, for a person. `message` names the thing and the rule. The other
// parts may be empty; a client shows them as "given", "allowed" and "to do".
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string field{};    // path of the field at fault, e.g. "resources.gpu"
  std::string given{};    // the value as it was given, shortened to 200 bytes
  std::string allowed{};  // what would have been accepted
  std::string to_do{};    // the next step, e.g. "run `moulin project list`"

  // All parts on one line, as the command line prints them.
  std::string to_text() const;
  bool operator==(const Error&) const = default;
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  Result(Error error) : std::expected<T, Error>(std::unexpected(std::move(error))) {}
};

using Status = Result<void>;

}  // namespace moulin

// Unwraps a Result or returns its Error from the enclosing function. Does not nest:
// `TRY(f(TRY(g())))` shadows a name, which is an error; give the inner value a name.
#define TRY(expression)                                                            \
  __extension__({                                                                  \
    auto moulin_try_result = (expression);                                         \
    if (!moulin_try_result) [[unlikely]] return ::std::move(moulin_try_result).error(); \
    ::moulin::take_value(moulin_try_result);                                       \
  })

namespace moulin {

template <class T>
T take_value(Result<T>& result) {
  return std::move(*result);
}
inline void take_value(Status&) {}

}  // namespace moulin
