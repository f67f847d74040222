#include "base/json.h"

#include <charconv>

#include "base/check.h"

namespace moulin {

bool Json::boolean() const {
  MOULIN_CHECK(is_bool());
  return std::get<bool>(value_);
}
const std::string& Json::string() const {
  MOULIN_CHECK(is_string());
  return std::get<std::string>(value_);
}
const std::string& Json::number() const {
  MOULIN_CHECK(is_number());
  return std::get<JsonNumber>(value_).text;
}
const JsonArray& Json::items() const {
  MOULIN_CHECK(is_array());
  return std::get<JsonArray>(value_);
}
JsonArray& Json::items() {
  MOULIN_CHECK(is_array());
  return std::get<JsonArray>(value_);
}
const JsonObject& Json::members() const {
  MOULIN_CHECK(is_object());
  return std::get<JsonObject>(value_);
}
JsonObject& Json::members() {
  MOULIN_CHECK(is_object());
  return std::get<JsonObject>(value_);
}

Result<int64_t> Json::integer() const {
  if (is_number()) {
    const std::string& text = number();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
  }
  return Error{.code = Code::kInvalid,
               .message = "not a whole number",
               .given = write_json(*this).substr(0, 200),
               .allowed = "a whole number of at most 18 digits"};
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const JsonMember& member : members()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = JsonObject{};
  for (JsonMember& member : members()) {
    if (member.first != key) continue;
    member.second = std::move(value);
    return *this;
  }
  members().emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = JsonArray{};
  items().push_back(std::move(value));
  return *this;
}

std::string_view type_text(Json::Type type) {
  switch (type) {
    case Json::Type::kNull: return "null";
    case Json::Type::kBool: return "a boolean";
    case Json::Type::kNumber: return "a number";
    case Json::Type::kString: return "a string";
    case Json::Type::kArray: return "a list";
    case Json::Type::kObject: return "an object";
  }
  MOULIN_UNREACHABLE();
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) {
          out += c;
        } else {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        }
    }
  }
  out += '"';
}

namespace {

// indent < 0: everything on one line.
class JsonWriter {
 public:
  JsonWriter(std::string& out, int indent) : out_(out), indent_(indent) {}

  void write(const Json& value, int level) {
    switch (value.type()) {
      case Json::Type::kNull: out_ += "null"; return;
      case Json::Type::kBool: out_ += value.boolean() ? "true" : "false"; return;
      case Json::Type::kNumber: out_ += value.number(); return;
      case Json::Type::kString: append_json_string(out_, value.string()); return;
      case Json::Type::kArray: write_array(value.items(), level); return;
      case Json::Type::kObject: write_object(value.members(), level); return;
    }
  }

 private:
  void write_array(const JsonArray& items, int level) {
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      new_line(level + 1);
      write(items[i], level + 1);
    }
    if (!items.empty()) new_line(level);
    out_ += ']';
  }
  void write_object(const JsonObject& members, int level) {
    out_ += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += ',';
      new_line(level + 1);
      append_json_string(out_, members[i].first);
      out_ += indent_ < 0 ? ":" : ": ";
      write(members[i].second, level + 1);
    }
    if (!members.empty()) new_line(level);
    out_ += '}';
  }
  void new_line(int level) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_ * level), ' ');
  }

  std::string& out_;
  int indent_;
};

}  // namespace

std::string write_json(const Json& value) {
  std::string out;
  JsonWriter(out, -1).write(value, 0);
  return out;
}

std::string write_json_pretty(const Json& value) {
  std::string out;
  JsonWriter(out, 2).write(value, 0);
  return out;
}

}  // namespace moulin
