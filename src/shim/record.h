// A struct in a file: the line "moulin-<kind> 1\n", then the struct in the encoding of
// base/codec.h. A reader skips fields that it does not know; a change that needs more
// than that gets a new number in the first line, and readers accept the number before.
#pragma once

#include <string>
#include <string_view>

#include "base/codec.h"

namespace moulin {

inline std::string record_first_line(std::string_view kind) { return "moulin-" + std::string(kind) + " 1\n"; }

template <class T>
std::string encode_record(std::string_view kind, const T& value) {
  return record_first_line(kind) + encode(value);
}

// What follows the first line. kInvalid: another kind of file. kRefused: a version that
// this program does not know.
Result<std::string_view> record_body(std::string_view kind, std::string_view bytes);

// Also kInvalid when the bytes are damaged.
template <class T>
Result<T> decode_record(std::string_view kind, std::string_view bytes) {
  std::string_view body = TRY(record_body(kind, bytes));
  Result<T> value = decode<T>(body);
  if (value) return value;
  return Error{.code = Code::kInvalid, .message = "the " + std::string(kind) + " file is damaged"};
}

}  // namespace moulin
