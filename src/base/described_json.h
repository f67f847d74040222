// A described struct (codec.h) as JSON, for people: enumerators as words, ids and names
// as text, amounts as integers in the unit of their type. Empty lists, maps, texts and
// absent optionals are left out. Nothing reads this back.
#pragma once

#include <functional>

#include "base/codec.h"
#include "base/enum_text.h"
#include "base/json.h"

namespace moulin {

// Names of fields that must not be shown, e.g. secrets.
using HiddenFields = std::function<bool(std::string_view name)>;

class JsonFields {
 public:
  explicit JsonFields(const HiddenFields& hidden) : hidden_(hidden) {}

  template <class T>
  void operator()(uint32_t, const char* name, const T& value) {
    if (hidden_(name)) return;
    Json json = convert(value);
    bool empty = json.is_null() || (json.is_string() && json.string().empty()) ||
                 (json.is_array() && json.items().empty()) || (json.is_object() && json.members().empty());
    if (!empty) result.set(name, std::move(json));
  }

  template <class T>
  Json convert(const T& value) const {
    if constexpr (std::same_as<T, bool>) {
      return value;
    } else if constexpr (Worded<T>) {
      return to_text(value);
    } else if constexpr (IsId<T>::value) {
      return value ? Json{to_text(value)} : Json{};
    } else if constexpr (CodedAmount<T>) {
      return static_cast<int64_t>(integer_of(value));
    } else if constexpr (PlainInteger<T>) {
      return static_cast<int64_t>(value);
    } else if constexpr (TextLike<T>) {
      return text_of(value);
    } else if constexpr (IsCow<T>::value) {
      return convert(*value);
    } else if constexpr (IsOptional<T>::value) {
      return value ? convert(*value) : Json{};
    } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
      Json list{JsonArray{}};
      for (const auto& item : value) list.push(convert(item));
      return list;
    } else if constexpr (IsMap<T>::value) {
      return convert_map(value);
    } else {
      JsonFields fields(hidden_);
      T::describe(value, fields);
      return fields.result;
    }
  }

  Json result{JsonObject{}};

 private:
  // A map with text keys is an object; any other a list of pairs.
  template <class Map>
  Json convert_map(const Map& map) const {
    using Key = std::remove_cvref_t<decltype(map.begin()->first)>;
    if constexpr (TextLike<Key>) {
      Json object{JsonObject{}};
      for (const auto& [key, value] : map) object.set(text_of(key), convert(value));
      return object;
    } else {
      Json list{JsonArray{}};
      for (const auto& [key, value] : map) {
        list.push(Json::object({{"key", convert(key)}, {"value", convert(value)}}));
      }
      return list;
    }
  }

  const HiddenFields& hidden_;
};

template <class T>
Json described_json(const T& value, const HiddenFields& hidden) {
  return JsonFields(hidden).convert(value);
}

}  // namespace moulin
