// Structs as bytes and as JSON, from one description of their fields.
//
//   struct Point {
//     int64_t x = 0;
//     std::string label;
//     template <class Self, class Visit>
//     static void describe(Self& self, Visit& visit) {
//       visit(1, "x", self.x);
//       visit(2, "label", self.label);
//     }
//   };
//
// Numbers ascend, are never reused and never change their meaning; new fields get new
// numbers at the end. A reader skips numbers it does not know and leaves a missing field
// as the struct's default, so old bytes are read by new code and the reverse.
//
// Encoding: a field is varint(number << 1 | kind) and then, kind 0, a zigzag varint
// (integers, enums, booleans) or, kind 1, a length and as many bytes (text, structs,
// lists, maps, optionals, variants). Empty text, lists, maps and optionals are left out
// where that is the struct's default; integers are always written. Maps are written in
// order of key. So equal values have equal bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/cow.h"
#include "base/cow_map.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "base/strong.h"

namespace moulin {

// ---- What a value is to the codec ----

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsMap : std::false_type {};
template <class K, class V> struct IsMap<std::map<K, V>> : std::true_type {};
template <class K, class V> struct IsMap<CowMap<K, V>> : std::true_type {};
template <class T> struct IsSet : std::false_type {};
template <class T> struct IsSet<std::set<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> struct IsVariant : std::false_type {};
template <class... T> struct IsVariant<std::variant<T...>> : std::true_type {};
template <class T> struct IsCow : std::false_type {};
template <class T> struct IsCow<Cow<T>> : std::true_type {};
template <class T> struct IsName : std::false_type {};
template <class Tag> struct IsName<Name<Tag>> : std::true_type {};
template <class T> struct IsId : std::false_type {};
template <class Tag> struct IsId<Id<Tag>> : std::true_type {};
template <class T> struct IsNumber : std::false_type {};
template <class Tag, class I> struct IsNumber<Number<Tag, I>> : std::true_type {};

template <class T>
concept PlainInteger = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept CodedAmount = std::same_as<T, Share> || std::same_as<T, CpuMilli> || std::same_as<T, Bytes> ||
                 std::same_as<T, Instant> || std::same_as<T, Duration> || IsId<T>::value || IsNumber<T>::value;
template <class T>
concept IntegerLike = PlainInteger<T> || CodedAmount<T>;
template <class T>
concept TextLike = std::same_as<T, std::string> || IsName<T>::value;

// The integer inside an amount, by reference. Self may be const.
template <class Self>
auto& integer_of(Self& amount) {
  using T = std::remove_const_t<Self>;
  if constexpr (std::same_as<T, Share> || std::same_as<T, CpuMilli>) return amount.milli;
  else if constexpr (std::same_as<T, Bytes>) return amount.count;
  else if constexpr (std::same_as<T, Instant> || std::same_as<T, Duration>) return amount.us;
  else if constexpr (IsId<T>::value) return amount.number;
  else return amount.value;
}
template <class Self>
auto& text_of(Self& value) {
  if constexpr (IsName<std::remove_const_t<Self>>::value) return value.text;
  else return value;
}

// ---- Writing ----

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void varint(uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }
  void zigzag(int64_t value) {
    varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void text(std::string_view bytes) {
    varint(bytes.size());
    out_ += bytes;
  }
  std::string& out() { return out_; }

 private:
  std::string& out_;
};

template <class T>
void encode_integer(ByteWriter& writer, const T& value) {
  if constexpr (CodedAmount<T>) writer.zigzag(static_cast<int64_t>(integer_of(value)));
  else writer.zigzag(static_cast<int64_t>(value));
}

template <class T>
void encode_body(ByteWriter& writer, const T& value);

// A value inside a list: integers bare, everything else with its length before it.
template <class T>
void encode_element(ByteWriter& writer, const T& value) {
  if constexpr (IntegerLike<T>) {
    encode_integer(writer, value);
  } else if constexpr (TextLike<T>) {
    writer.text(text_of(value));
  } else {
    std::string body;
    ByteWriter inner(body);
    encode_body(inner, value);
    writer.text(body);
  }
}

// Whether a value is one of those that are left out when they are empty, and is.
template <class T>
bool is_left_out(const T& value) {
  if constexpr (IntegerLike<T>) return false;
  else if constexpr (IsCow<T>::value) return is_left_out(*value);
  else if constexpr (TextLike<T>) return text_of(value).empty();
  else if constexpr (IsVector<T>::value || IsMap<T>::value || IsSet<T>::value) return value.empty();
  else if constexpr (IsOptional<T>::value) return !value;
  else return false;
}

// The numbers of a struct's texts, lists, sets and maps that are not empty by default, as
// bits: were they left out when empty, a reader would take the default instead.
class FullByDefault {
 public:
  template <class T>
  static uint64_t of() {
    static const uint64_t numbers = [] {
      T value{};
      FullByDefault full;
      T::describe(value, full);
      return full.numbers_;
    }();
    return numbers;
  }
  template <class T>
  void operator()(uint32_t number, const char*, const T& value) {
    MOULIN_CHECK(number < 64);
    if constexpr (IsCow<T>::value) (*this)(number, "", *value);
    else if constexpr (TextLike<T> || IsVector<T>::value || IsMap<T>::value || IsSet<T>::value) {
      if (!is_left_out(value)) numbers_ |= uint64_t{1} << number;
    } else if constexpr (IsOptional<T>::value) {
      MOULIN_CHECK(!value, "an optional that is set by default cannot be written as empty");
    }
  }

 private:
  uint64_t numbers_ = 0;
};

class FieldWriter {
 public:
  FieldWriter(ByteWriter& writer, uint64_t full_by_default) : writer_(writer), full_by_default_(full_by_default) {}

  template <class T>
  void operator()(uint32_t number, const char*, const T& value) {
    if constexpr (IntegerLike<T>) {
      writer_.varint(uint64_t{number} << 1);
      encode_integer(writer_, value);
    } else if constexpr (IsCow<T>::value) {
      (*this)(number, "", *value);
    } else {
      bool is_default = (full_by_default_ >> number & 1) == 0;
      if (is_default && is_left_out(value)) return;
      writer_.varint(uint64_t{number} << 1 | 1);
      encode_element(writer_, value);
    }
  }

 private:
  ByteWriter& writer_;
  uint64_t full_by_default_;
};

template <class T>
void encode_body(ByteWriter& writer, const T& value) {
  if constexpr (TextLike<T>) {
    writer.out() += text_of(value);
  } else if constexpr (IsCow<T>::value) {
    encode_body(writer, *value);
  } else if constexpr (IsOptional<T>::value) {
    if (value) encode_element(writer, *value);
  } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
    writer.varint(value.size());
    for (const auto& item : value) encode_element(writer, item);
  } else if constexpr (IsMap<T>::value) {
    writer.varint(value.size());
    for (const auto& [key, mapped] : value) {
      encode_element(writer, key);
      encode_element(writer, mapped);
    }
  } else if constexpr (IsVariant<T>::value) {
    writer.varint(value.index());
    std::visit([&](const auto& alternative) { encode_body(writer, alternative); }, value);
  } else {
    FieldWriter fields(writer, FullByDefault::of<T>());
    std::remove_const_t<T>::describe(value, fields);
  }
}

// The bytes of a described struct.
template <class T>
std::string encode(const T& value) {
  std::string out;
  ByteWriter writer(out);
  encode_body(writer, value);
  return out;
}

// ---- Reading ----

// Reads from the front of a view; once something was wrong, ok() stays false and every
// read gives zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  int64_t zigzag() {
    uint64_t value = varint();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  std::string_view text() {
    uint64_t size = varint();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view take_rest() { return std::exchange(rest_, {}); }
  // A count of elements of at least one byte each: never more than what is left.
  uint64_t count() {
    uint64_t n = varint();
    return n > rest_.size() ? fail() : n;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

template <class T>
void decode_integer(ByteReader& reader, T& value) {
  int64_t read = reader.zigzag();
  if constexpr (CodedAmount<T>) {
    auto& inside = integer_of(value);
    inside = static_cast<std::remove_reference_t<decltype(inside)>>(read);
  } else {
    value = static_cast<T>(read);
  }
}

template <class T>
void decode_body(ByteReader& reader, T& value);

template <class T>
void decode_element(ByteReader& reader, T& value) {
  if constexpr (IntegerLike<T>) {
    decode_integer(reader, value);
  } else {
    ByteReader inner(reader.text());
    decode_body(inner, value);
    if (!inner.ok()) reader.fail();
  }
}

class FieldReader {
 public:
  explicit FieldReader(ByteReader& reader) : reader_(reader) { advance(); }

  template <class T>
  void operator()(uint32_t number, const char*, T& value) {
    while (pending_ && number_ < number) skip();
    if (!pending_ || number_ != number) return;
    if constexpr (IsCow<T>::value) {
      read(value.mutate());
    } else {
      read(value);
    }
    advance();
  }
  void finish() {
    while (pending_) skip();
  }

 private:
  template <class T>
  void read(T& value) {
    if (is_bytes_ == IntegerLike<T>) reader_.fail();
    else decode_element(reader_, value);
  }
  void skip() {
    if (is_bytes_) reader_.text();
    else reader_.varint();
    advance();
  }
  void advance() {
    pending_ = reader_.ok() && !reader_.at_end();
    if (!pending_) return;
    uint64_t key = reader_.varint();
    is_bytes_ = (key & 1) != 0;
    if (key >> 1 <= number_) reader_.fail();  // numbers ascend
    number_ = key >> 1;
    pending_ = reader_.ok();
  }

  ByteReader& reader_;
  uint64_t number_ = 0;
  bool pending_ = false;
  bool is_bytes_ = false;
};

template <class Variant, size_t I = 0>
void decode_variant(ByteReader& reader, size_t index, Variant& value) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index != I) return decode_variant<Variant, I + 1>(reader, index, value);
    value.template emplace<I>();
    decode_body(reader, std::get<I>(value));
  } else {
    reader.fail();
  }
}

template <class T>
void decode_body(ByteReader& reader, T& value) {
  if constexpr (TextLike<T>) {
    text_of(value) = reader.take_rest();
  } else if constexpr (IsCow<T>::value) {
    decode_body(reader, value.mutate());
  } else if constexpr (IsOptional<T>::value) {
    decode_element(reader, value.emplace());
  } else if constexpr (IsVector<T>::value) {
    uint64_t size = reader.count();
    value.clear();
    for (uint64_t i = 0; i < size && reader.ok(); ++i) decode_element(reader, value.emplace_back());
  } else if constexpr (IsSet<T>::value) {
    uint64_t size = reader.count();
    value = T{};
    for (uint64_t i = 0; i < size && reader.ok(); ++i) {
      typename T::value_type item{};
      decode_element(reader, item);
      value.insert(std::move(item));
    }
  } else if constexpr (IsMap<T>::value) {
    uint64_t size = reader.count();
    value = T{};
    for (uint64_t i = 0; i < size && reader.ok(); ++i) {
      std::remove_cvref_t<decltype(value.begin()->first)> key{};
      std::remove_cvref_t<decltype(value.begin()->second)> mapped{};
      decode_element(reader, key);
      decode_element(reader, mapped);
      if constexpr (requires { value.set(key, std::move(mapped)); }) value.set(key, std::move(mapped));
      else value.insert_or_assign(std::move(key), std::move(mapped));
    }
  } else if constexpr (IsVariant<T>::value) {
    uint64_t index = reader.varint();
    decode_variant(reader, static_cast<size_t>(index), value);
  } else {
    value = T{};  // what is missing has T's default, not that of the struct around it
    FieldReader fields(reader);
    T::describe(value, fields);
    fields.finish();
  }
}

// The struct of these bytes; kInternal when they are not of this codec.
template <class T>
Result<T> decode(std::string_view bytes) {
  T value{};
  ByteReader reader(bytes);
  decode_body(reader, value);
  if (reader.ok() && reader.at_end()) return value;
  return Error{.code = Code::kInternal, .message = "damaged bytes"};
}

}  // namespace moulin
