// The only file that includes RapidJSON.
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/reader.h>

#include <set>

#include "base/json.h"
#include "base/text.h"

namespace moulin {

namespace {

constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag |
                            rapidjson::kParseIterativeFlag;

// Builds a Json from RapidJSON's events. A handler that returns false ends the parse;
// `refusal` then says why.
class Builder {
 public:
  explicit Builder(JsonLimits limits) : limits_(limits) {}

  bool Null() { return add(Json{}); }
  bool Bool(bool value) { return add(Json{value}); }
  bool Int(int value) { return add(Json{value}); }
  bool Uint(unsigned value) { return add(Json{static_cast<uint64_t>(value)}); }
  bool Int64(int64_t value) { return add(Json{value}); }
  bool Uint64(uint64_t value) { return add(Json{value}); }
  bool Double(double) { return false; }  // never called: numbers arrive as text
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return add(JsonNumber{std::string(text, size)}); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return whole_characters({text, size}) && add(Json{std::string(text, size)});
  }
  bool StartObject() { return open(Json{JsonObject{}}); }
  bool StartArray() { return open(Json{JsonArray{}}); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (!whole_characters({text, size})) return false;
    Level& level = levels_.back();
    level.key.assign(text, size);
    if (level.keys.insert(level.key).second) return true;
    refusal = "key \"" + level.key.substr(0, 100) + "\" is given twice";
    return false;
  }

  Json result;
  std::string refusal;

 private:
  struct Level {
    Json value;
    std::string key{};
    std::set<std::string> keys{};
  };

  // RapidJSON checks the bytes of a string, but takes \uDC00 without what belongs before it.
  bool whole_characters(std::string_view text) {
    if (is_utf8(text)) return true;
    refusal = "a string holds half of a surrogate pair";
    return false;
  }
  bool open(Json container) {
    if (levels_.size() >= limits_.depth_max) {
      refusal = "nested deeper than " + std::to_string(limits_.depth_max) + " levels";
      return false;
    }
    levels_.push_back({std::move(container)});
    return count();
  }
  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    place(std::move(value));
    return true;
  }
  bool add(Json value) {
    place(std::move(value));
    return count();
  }
  void place(Json value) {
    if (levels_.empty()) {
      result = std::move(value);
      return;
    }
    Level& level = levels_.back();
    if (level.value.is_array()) {
      level.value.items().push_back(std::move(value));
    } else {
      level.value.members().emplace_back(std::move(level.key), std::move(value));
    }
  }
  bool count() {
    if (++values_ <= limits_.values_max) return true;
    refusal = "more than " + std::to_string(limits_.values_max) + " values";
    return false;
  }

  JsonLimits limits_;
  std::vector<Level> levels_;
  size_t values_ = 0;
};

}  // namespace

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  Builder builder(limits);
  rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, builder);
  if (parsed) return std::move(builder.result);
  std::string why = builder.refusal.empty() ? rapidjson::GetParseError_En(parsed.Code()) : builder.refusal;
  return Error{.code = Code::kInvalid,
               .message = "not valid JSON at byte " + std::to_string(parsed.Offset()) + ": " + why,
               .to_do = "mend the document there"};
}

}  // namespace moulin
