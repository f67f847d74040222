#include "base/json_reader.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace moulin {

namespace {

// A number or word as it is, everything else as JSON.
std::string given_text(const Json& value) { return shortened(value.is_string() ? value.string() : write_json(value)); }

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Error unknown_field(std::string_view name, std::string_view path, std::span<const std::string_view> known) {
  std::string_view near = nearest_word(name, known);
  return {.code = Code::kInvalid,
          .message = "unknown field",
          .field = member_path(path, name),
          .given = shortened(name),
          .allowed = words_text(known),
          .to_do = near.empty() ? "remove it" : "did you mean `" + std::string(near) + "`?"};
}

}  // namespace

Error at_path(std::string_view path, Error error) {
  error.field = error.field.empty() ? std::string(path) : member_path(path, error.field);
  return error;
}

Error wrong_value(const Json& value, std::string_view path, std::string_view allowed) {
  std::string message = "does not take " + std::string(type_text(value.type())) + " like this";
  return {.code = Code::kInvalid,
          .message = std::move(message),
          .field = std::string(path),
          .given = given_text(value),
          .allowed = std::string(allowed)};
}

std::string member_path(std::string_view path, std::string_view name) {
  std::string joined(path);
  if (!path.empty() && !name.starts_with('[')) joined += '.';
  return joined += name.empty() ? "\"\"" : shortened(name, 100);
}

std::string item_path(std::string_view path, size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

Result<ObjectReader> ObjectReader::open(const Json& value, std::string_view path, Fields fields) {
  if (!value.is_object()) return wrong_value(value, path.empty() ? "document" : path, "an object with named fields");
  for (const auto& [name, member] : value.members()) {
    if (contains(fields.known, name)) continue;
    if (!contains(fields.not_built, name)) return unknown_field(name, path, fields.known);
    if (!member.is_null()) {
      return Error{.code = Code::kInvalid,
                   .message = "`" + name + "` is not built yet",
                   .field = member_path(path, name),
                   .to_do = "remove it"};
    }
  }
  return ObjectReader(value, path, fields);
}

const Json* ObjectReader::find(std::string_view name) const {
  MOULIN_CHECK(contains(fields_.known, name), "asks for a field that it refuses");
  const Json* value = object_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<const Json*> ObjectReader::require(std::string_view name) const {
  if (const Json* value = find(name)) return value;
  return Error{.code = Code::kInvalid,
               .message = "is missing",
               .field = path_of(name),
               .to_do = "add the field `" + std::string(name) + "`"};
}

Status check_text(std::string_view text, std::string_view path, TextLimits limits) {
  Error error{.code = Code::kInvalid, .message = "", .field = std::string(path), .given = shortened(text)};
  if (text.size() < limits.bytes_min) {
    error.message = text.empty() ? "is empty" : "is too short";
  } else if (text.size() > limits.bytes_max) {
    error.message = "is too long: " + std::to_string(text.size()) + " bytes";
  } else if (text.find('\0') != std::string_view::npos) {
    error.message = "holds a NUL byte";
    error.given = "text with a NUL byte at " + std::to_string(text.find('\0'));
  } else if (!is_utf8(text)) {
    error.message = "is not UTF-8";
    error.given = "bytes that are no UTF-8";
  } else {
    return {};
  }
  error.allowed = "UTF-8 text of " + std::to_string(limits.bytes_min) + " to " + std::to_string(limits.bytes_max) +
                  " bytes without NUL";
  return error;
}

Result<std::string> read_text(const Json& value, std::string_view path, TextLimits limits) {
  if (!value.is_string()) {
    return wrong_value(value, path, value.is_number() || value.is_bool() ? "text: put it into quotes" : "text");
  }
  TRY(check_text(value.string(), path, limits));
  return value.string();
}

Result<int64_t> read_integer(const Json& value, std::string_view path, IntegerRange range) {
  std::string allowed = "a whole number from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  Result<int64_t> integer = value.integer();
  if (!integer) return wrong_value(value, path, allowed);
  if (*integer >= range.min && *integer <= range.max) return *integer;
  return Error{.code = Code::kInvalid,
               .message = *integer < range.min ? "is too small" : "is too large",
               .field = std::string(path),
               .given = given_text(value),
               .allowed = std::move(allowed)};
}

Result<bool> read_boolean(const Json& value, std::string_view path) {
  if (value.is_bool()) return value.boolean();
  return wrong_value(value, path, "true or false");
}

Result<const JsonArray*> read_list(const Json& value, std::string_view path, size_t count_max) {
  std::string allowed = "a list of at most " + std::to_string(count_max);
  if (!value.is_array()) return wrong_value(value, path, allowed);
  if (value.items().size() <= count_max) return &value.items();
  return Error{.code = Code::kInvalid,
               .message = "has too many items",
               .field = std::string(path),
               .given = std::to_string(value.items().size()) + " items",
               .allowed = std::move(allowed)};
}

Result<std::string> read_amount_text(const Json& value, std::string_view path, std::string_view allowed) {
  if (value.is_number()) return value.number();
  if (value.is_string()) return value.string();
  return wrong_value(value, path, allowed);
}

}  // namespace moulin
