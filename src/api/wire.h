// How wire types are read and written. The types themselves, their readers and writers
// are made from api/openapi.yaml (wire_types.h) and lean on what is here.
//
//   wire::NewUser user = TRY(wire::read<wire::NewUser>(document));
//   std::string text = write_json(wire::write(user));
//
// Readers of requests refuse unknown fields; readers of answers skip them, so that an
// older client understands a newer server. Errors are kInvalid with the path of the field.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/wall_time.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/share.h"
#include "model/names.h"
#include "model/workload.h"

namespace moulin::wire {

// ---- Limits of a value; NoLimit for those that need none ----

struct NoLimit {};
inline constexpr TextLimits kAnyText{.bytes_min = 0, .bytes_max = SIZE_MAX};
template <class Item>
struct ListLimits {
  size_t count_min = 0;
  size_t count_max = SIZE_MAX;
  Item item{};  // limits of each item
};

// What a reader of a whole JSON value of type T looks like; made for every schema.
template <class T>
struct Codec;

// ---- One value ----

inline Result<std::string> read_value(const Json& value, std::string_view path, TextLimits limits, std::string*) {
  return read_text(value, path, limits);
}
template <class Integer>
  requires std::is_same_v<Integer, int64_t> || std::is_same_v<Integer, int32_t>
Result<Integer> read_value(const Json& value, std::string_view path, IntegerRange range, Integer*) {
  return static_cast<Integer>(TRY(read_integer(value, path, range)));
}
inline Result<bool> read_value(const Json& value, std::string_view path, NoLimit, bool*) {
  return read_boolean(value, path);
}
inline Result<Json> read_value(const Json& value, std::string_view, NoLimit, Json*) { return value; }
template <Worded Enum>
Result<Enum> read_value(const Json& value, std::string_view path, NoLimit, Enum*) {
  return read_word<Enum>(value, path, "word");
}
template <class T>
  requires requires(const Json& value) { Codec<T>::read(value, std::string_view{}); }
Result<T> read_value(const Json& value, std::string_view path, NoLimit, T*) {
  return Codec<T>::read(value, path);
}

inline Json write_value(const std::string& value) { return value; }
inline Json write_value(int64_t value) { return value; }
inline Json write_value(int32_t value) { return int64_t{value}; }
inline Json write_value(bool value) { return value; }
inline Json write_value(const Json& value) { return value; }
template <Worded Enum>
Json write_value(Enum value) {
  return to_text(value);
}
template <class T>
  requires requires(const T& value) { Codec<T>::write(value); }
Json write_value(const T& value) {
  return Codec<T>::write(value);
}

// ---- Types of ours that are one number or one text on the wire ----

template <class T, int64_t T::* kMember>
struct IntegerCodec {
  static Result<T> read(const Json& value, std::string_view path) {
    T result;
    result.*kMember = TRY(read_integer(value, path, {.min = 0}));
    return result;
  }
  static Json write(const T& value) { return value.*kMember; }
};
template <>
struct Codec<Share> : IntegerCodec<Share, &Share::milli> {};
template <>
struct Codec<CpuMilli> : IntegerCodec<CpuMilli, &CpuMilli::milli> {};
template <>
struct Codec<Bytes> : IntegerCodec<Bytes, &Bytes::count> {};

// Seconds with six digits after the point.
template <class T, int64_t T::* kMillionths>
struct DecimalCodec {
  static Result<T> read(const Json& value, std::string_view path) {
    if (!value.is_number()) return wrong_value(value, path, "a number");
    T result;
    result.*kMillionths = TRY(at_path(path, parse_millionths(value.number())));
    return result;
  }
  static Json write(const T& value) { return JsonNumber{decimal_of_millionths(value.*kMillionths)}; }
};
template <>
struct Codec<Duration> : DecimalCodec<Duration, &Duration::us> {};
template <>
struct Codec<GpuTime> : DecimalCodec<GpuTime, &GpuTime::micro> {};

template <>
struct Codec<WallTime> {
  static Result<WallTime> read(const Json& value, std::string_view path) {
    return at_path(path, parse_wall_time(TRY(read_text(value, path, {.bytes_max = 64}))));
  }
  static Json write(WallTime value) { return to_text(value); }
};

template <class Tag>
struct Codec<Id<Tag>> {
  static Result<Id<Tag>> read(const Json& value, std::string_view path) {
    const std::string text = TRY(read_text(value, path, {.bytes_max = 64}));
    return Id<Tag>{TRY(at_path(path, parse_id(Tag::kPrefix, text)))};
  }
  static Json write(Id<Tag> value) { return to_text(value); }
};

// ---- Lists, maps and what may be absent ----

template <class T, class Item>
Result<std::vector<T>> read_value(const Json& value, std::string_view path, const ListLimits<Item>& limits,
                                  std::vector<T>*) {
  const JsonArray* items = TRY(read_list(value, path, limits.count_max));
  if (items->size() < limits.count_min) return wrong_value(value, path, "a list with at least one item");
  std::vector<T> result;
  result.reserve(items->size());
  for (size_t i = 0; i < items->size(); ++i) {
    result.push_back(TRY(read_value((*items)[i], item_path(path, i), limits.item, static_cast<T*>(nullptr))));
  }
  return result;
}

template <class T, class Item>
Result<std::map<std::string, T>> read_value(const Json& value, std::string_view path, const ListLimits<Item>& limits,
                                            std::map<std::string, T>*) {
  if (!value.is_object()) return wrong_value(value, path, "an object");
  std::map<std::string, T> result;
  for (const auto& [name, member] : value.members()) {
    if (result.size() == limits.count_max) return wrong_value(value, path, "an object with fewer members");
    result.emplace(name, TRY(read_value(member, member_path(path, name), limits.item, static_cast<T*>(nullptr))));
  }
  return result;
}

template <class T>
Json write_value(const std::vector<T>& values) {
  JsonArray items;
  items.reserve(values.size());
  for (const T& value : values) items.push_back(write_value(value));
  return items;
}

template <class T>
Json write_value(const std::map<std::string, T>& values) {
  JsonObject members;
  members.reserve(values.size());
  for (const auto& [name, value] : values) members.emplace_back(name, write_value(value));
  return members;
}

template <class T>
Json write_value(const std::optional<T>& value) {
  return value ? write_value(*value) : Json(nullptr);
}

// ---- Members, as the made readers and writers use them ----

// In a request a field that may not be null has a value or is left out.
inline Status refuse_nulls(const Json& value, std::string_view path) {
  if (!value.is_object()) return {};
  for (const auto& [name, member] : value.members()) {
    if (member.is_null()) return wrong_value(member, member_path(path, name), "a value, or to be left out");
  }
  return {};
}

// An answer's object: unlike an ObjectReader it does not mind unknown members.
class AnswerReader {
 public:
  static Result<AnswerReader> open(const Json& value, std::string_view path) {
    if (!value.is_object()) return wrong_value(value, path.empty() ? "answer" : path, "an object");
    return AnswerReader(value, path);
  }
  const Json* find(std::string_view name) const {
    const Json* member = object_->find(name);
    return member == nullptr || member->is_null() ? nullptr : member;
  }
  Result<const Json*> require(std::string_view name) const {
    if (const Json* member = find(name)) return member;
    return Error{.code = Code::kInvalid, .message = "a field is missing", .field = path_of(name)};
  }
  std::string path_of(std::string_view name) const { return member_path(path_, name); }

 private:
  AnswerReader(const Json& object, std::string_view path) : object_(&object), path_(path) {}

  const Json* object_;
  std::string path_;
};

template <class Reader, class T, class Limits>
Status read_required(const Reader& reader, std::string_view name, T& to, const Limits& limits) {
  const Json* member = TRY(reader.require(name));
  to = TRY(read_value(*member, reader.path_of(name), limits, static_cast<T*>(nullptr)));
  return {};
}

// Absent or null leaves `to` as it is: at its default, or empty.
template <class Reader, class T, class Limits>
Status read_optional(const Reader& reader, std::string_view name, T& to, const Limits& limits) {
  const Json* member = reader.find(name);
  if (member != nullptr) to = TRY(read_value(*member, reader.path_of(name), limits, static_cast<T*>(nullptr)));
  return {};
}
template <class Reader, class T, class Limits>
Status read_optional(const Reader& reader, std::string_view name, std::optional<T>& to, const Limits& limits) {
  const Json* member = reader.find(name);
  if (member != nullptr) to = TRY(read_value(*member, reader.path_of(name), limits, static_cast<T*>(nullptr)));
  return {};
}

template <class T>
void write_member(JsonObject& members, std::string_view name, const T& value) {
  members.emplace_back(name, write_value(value));
}
// Leaves an empty one out.
template <class T>
void write_if_any(JsonObject& members, std::string_view name, const T& value) {
  if constexpr (requires { value.has_value(); }) {
    if (!value.has_value()) return;
  } else {
    if (value.empty()) return;
  }
  write_member(members, name, value);
}

// ---- Whole values ----

template <class T>
Result<T> read(const Json& value, std::string_view path = {}) {
  return Codec<T>::read(value, path);
}
template <class T>
Json write(const T& value) {
  return Codec<T>::write(value);
}

}  // namespace moulin::wire
