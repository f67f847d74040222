// JSON as a value, and the strict reading and writing of it.
//
// Numbers are kept as text until somebody asks for an integer or a decimal, so that no
// share or amount of money ever passes through a double. Object members keep their order.
// YAML files become the same value (yaml.h), so one reader serves both.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace moulin {

class Json;
using JsonArray = std::vector<Json>;
using JsonMember = std::pair<std::string, Json>;
using JsonObject = std::vector<JsonMember>;  // keys are unique; order is kept

// Text of a number as JSON writes it, e.g. "0.25" or "-3".
struct JsonNumber {
  std::string text;
  bool operator==(const JsonNumber&) const = default;
};

class Json {
 public:
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject };

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : Json(static_cast<int64_t>(value)) {}
  Json(int64_t value) : value_(JsonNumber{std::to_string(value)}) {}
  Json(uint64_t value) : value_(JsonNumber{std::to_string(value)}) {}
  Json(JsonNumber number) : value_(std::move(number)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(JsonArray items) : value_(std::move(items)) {}
  Json(JsonObject members) : value_(std::move(members)) {}
  // Json::object({{"id", "w-1"}, {"count", 3}})
  static Json object(std::initializer_list<JsonMember> members) { return JsonObject(members); }
  static Json array(std::initializer_list<Json> items) { return JsonArray(items); }

  Type type() const { return static_cast<Type>(value_.index()); }
  bool is_null() const { return type() == Type::kNull; }
  bool is_string() const { return type() == Type::kString; }
  bool is_number() const { return type() == Type::kNumber; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_object() const { return type() == Type::kObject; }
  bool is_bool() const { return type() == Type::kBool; }

  // Each requires the type it names; MOULIN_CHECK otherwise.
  bool boolean() const;
  const std::string& string() const;
  const std::string& number() const;  // the text
  const JsonArray& items() const;
  JsonArray& items();
  const JsonObject& members() const;
  JsonObject& members();

  // A number without point or exponent that fits 64 bits; kInvalid otherwise.
  Result<int64_t> integer() const;

  // The member of an object; nullptr when absent or when this is no object. Linear.
  const Json* find(std::string_view key) const;
  // Sets or replaces a member; a null becomes an object first.
  Json& set(std::string_view key, Json value);
  // Appends to an array; a null becomes an array first.
  Json& push(Json value);

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, JsonNumber, std::string, JsonArray, JsonObject> value_;
};

// "null", "a boolean", "a number", "a string", "a list", "an object": for error messages.
std::string_view type_text(Json::Type type);

struct JsonLimits {
  size_t depth_max = 32;
  size_t values_max = 1'000'000;
};

// Strict RFC 8259: UTF-8 is validated, duplicate keys, trailing text, NaN and anything
// beyond `limits` are refused. The Error names the byte offset.
Result<Json> parse_json(std::string_view text, JsonLimits limits = {});

std::string write_json(const Json& value);         // on one line, no spaces
std::string write_json_pretty(const Json& value);  // two spaces a level, ends without newline
void append_json_string(std::string& out, std::string_view text);  // quoted and escaped

}  // namespace moulin
