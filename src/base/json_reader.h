// Strict reading of JSON values: every member is known, has its type and is in range.
//
//   constexpr std::string_view kFields[] = {"name", "count"};
//   ObjectReader reader = TRY(ObjectReader::open(document, "", {.known = kFields}));
//   if (const Json* name = reader.find("name")) ... TRY(read_text(*name, reader.path_of("name"), {}));
//   const Json* count = TRY(reader.require("count"));
//
// Paths are those that a person would write: "resources.gpu", "ports[0].name", "env.PATH".
// All errors are kInvalid with field, given and allowed filled in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/json.h"
#include "base/result.h"

namespace moulin {

// ---- Errors ----

// `error` with its field: `path` in front of what field it names already.
Error at_path(std::string_view path, Error error);

// "must be `allowed`", with the value as given.
Error wrong_value(const Json& value, std::string_view path, std::string_view allowed);

// Names the field of the Error of a Result of a parser that does not know where it reads.
template <class T>
Result<T> at_path(std::string_view path, Result<T> result) {
  if (result) return result;
  return at_path(path, std::move(result).error());
}

// "env" and "PATH" give "env.PATH"; an empty path gives the name alone.
std::string member_path(std::string_view path, std::string_view name);
// "argv" and 3 give "argv[3]".
std::string item_path(std::string_view path, size_t index);

// ---- Objects ----

// The names that an object may have. Borrowed, in the order in which a person reads them.
struct Fields {
  std::span<const std::string_view> known;
  std::span<const std::string_view> not_built{};  // promised for later: refused by name, unless null
};

// Borrows the object and the names: both outlive the reader. find() and require() cost
// O(members). Copyable.
class ObjectReader {
 public:
  // Refuses what is no object, and an object with a member that is not known: the Error
  // suggests the known name that was most likely meant.
  static Result<ObjectReader> open(const Json& value, std::string_view path, Fields fields);

  // The member, nullptr when absent or null. `name` is one of the known.
  const Json* find(std::string_view name) const;
  // The same for a member that must be there and not be null.
  Result<const Json*> require(std::string_view name) const;

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return member_path(path_, name); }

 private:
  ObjectReader(const Json& object, std::string_view path, Fields fields)
      : object_(&object), path_(path), fields_(fields) {}

  const Json* object_;
  std::string path_;
  Fields fields_;
};

// ---- Values ----

struct TextLimits {
  size_t bytes_min = 0;
  size_t bytes_max = 1000;
};
// A string of that many bytes, in valid UTF-8, without NUL.
Result<std::string> read_text(const Json& value, std::string_view path, TextLimits limits);
// The same check on text that is no value, such as a member's name.
Status check_text(std::string_view text, std::string_view path, TextLimits limits);

struct IntegerRange {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};
// A number without point or exponent, from min to max.
Result<int64_t> read_integer(const Json& value, std::string_view path, IntegerRange range);

Result<bool> read_boolean(const Json& value, std::string_view path);

// Borrows the items: at most `count_max`.
Result<const JsonArray*> read_list(const Json& value, std::string_view path, size_t count_max);

// One of an enum's words. `what` names the thing: "class".
template <Worded Enum>
Result<Enum> read_word(const Json& value, std::string_view path, std::string_view what) {
  if (!value.is_string()) return wrong_value(value, path, words_text(kWords<Enum>));
  return at_path(path, parse_word<Enum>(what, value.string()));
}

// What a person wrote as an amount: the text of a number or of a string, e.g. "0.25" or
// "16GiB"; kInvalid for anything else. `allowed` says what the caller will accept.
Result<std::string> read_amount_text(const Json& value, std::string_view path, std::string_view allowed);

}  // namespace moulin
