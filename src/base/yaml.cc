// The only file that includes yaml-cpp.
#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "base/text.h"

namespace moulin {

namespace {

constexpr size_t kDocumentsMax = 1000;
// Within these every number is one that parse_json takes; beyond, it is text.
constexpr size_t kNumberBytesMax = 64;
constexpr size_t kExponentDigitsMax = 2;

Error malformed(const YAML::Mark& mark, const std::string& why) {
  std::string where;
  if (!mark.is_null())
    where = " at line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1);
  return {.code = Code::kInvalid, .message = "not valid YAML" + where + ": " + why, .to_do = "mend the file there"};
}

// JSON's grammar for numbers: so "1e5" is one, and "0x10", "1_000" and "12:30" are strings.
bool looks_like_number(std::string_view text) {
  size_t i = text.starts_with('-') ? 1 : 0;
  auto digits = [&] {
    size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  bool leading_zero = i < text.size() && text[i] == '0';
  size_t whole = digits();
  if (whole == 0 || (leading_zero && whole > 1)) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    size_t exponent = digits();
    if (exponent == 0 || exponent > kExponentDigitsMax) return false;
  }
  return i == text.size() && text.size() <= kNumberBytesMax;
}

Json scalar(const std::string& tag, const std::string& text) {
  if (tag == "!") return Json{text};  // quoted
  if (text == "true") return Json{true};
  if (text == "false") return Json{false};
  if (looks_like_number(text)) return JsonNumber{text};
  return Json{text};
}

// Builds a Json from yaml-cpp's events. It cannot stop the parser: after the first error
// it remembers that one and passes over the rest.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(JsonLimits limits) : limits_(limits) {}

  const std::optional<Error>& error() const { return error_; }
  Json take_document() { return std::move(document_); }
  // Where the document that was read last begins.
  int start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = mark.pos;
    document_ = {};
    values_ = 0;
    anchored_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (takes_value(mark, "?")) place(Built{Json{}, anchor, 1});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (error_) return;
    if (!levels_.empty() && levels_.back().wants_key) return take_key(mark, value);
    if (takes_value(mark, tag)) place(Built{scalar(tag, value), anchor, 1});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!takes_value(mark, "?")) return;
    auto found = anchored_.find(anchor);
    if (found == anchored_.end()) return fail(mark, "an alias stands inside what it names");
    if (count(mark, found->second.values)) place(Built{found->second.value, 0, found->second.values});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, Level{.value = JsonArray{}, .anchor = anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, Level{.value = JsonObject{}, .anchor = anchor, .wants_key = true});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Built {
    Json value{};
    YAML::anchor_t anchor = 0;
    size_t values = 0;  // in it, itself included
  };
  struct Level {
    Json value{};
    YAML::anchor_t anchor = 0;
    bool wants_key = false;  // of a map: the next scalar is a key
    size_t values = 1;
    std::string key{};
    std::set<std::string> keys{};
  };

  void fail(const YAML::Mark& mark, const std::string& why) {
    if (!error_) error_ = malformed(mark, why);
  }
  bool count(const YAML::Mark& mark, size_t values) {
    values_ += values;
    if (values_ > limits_.values_max) fail(mark, "more than " + std::to_string(limits_.values_max) + " values");
    return !error_;
  }
  bool takes_value(const YAML::Mark& mark, const std::string& tag) {
    if (error_) return false;
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "tags are not allowed");
    if (!levels_.empty() && levels_.back().wants_key) fail(mark, "a key must be a plain word");
    return count(mark, 1);
  }
  void take_key(const YAML::Mark& mark, const std::string& key) {
    Level& level = levels_.back();
    if (!level.keys.insert(key).second) fail(mark, "key \"" + key.substr(0, 100) + "\" is given twice");
    level.key = key;
    level.wants_key = false;
  }
  void open(const YAML::Mark& mark, const std::string& tag, Level level) {
    if (!takes_value(mark, tag)) return;
    if (levels_.size() >= limits_.depth_max)
      return fail(mark, "nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    levels_.push_back(std::move(level));
  }
  void close() {
    if (error_) return;
    Level level = std::move(levels_.back());
    levels_.pop_back();
    place(Built{std::move(level.value), level.anchor, level.values});
  }
  void place(Built built) {
    if (built.anchor != 0) {
      values_ += built.values;  // kept twice
      anchored_[built.anchor] = built;
    }
    if (levels_.empty()) {
      document_ = std::move(built.value);
      return;
    }
    Level& level = levels_.back();
    level.values += built.values;
    if (level.value.is_array()) {
      level.value.items().push_back(std::move(built.value));
    } else {
      level.value.members().emplace_back(std::move(level.key), std::move(built.value));
      level.wants_key = true;
    }
  }

  JsonLimits limits_;
  std::optional<Error> error_;
  Json document_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, Built> anchored_;
  size_t values_ = 0;
  int start_ = -1;
};

// One document after the other. yaml-cpp never gets past some malformed texts: it gives
// one empty document after the other at the same place.
Result<std::vector<Json>> read_documents(std::istream& stream, JsonLimits limits) {
  std::vector<Json> documents;
  YAML::Parser parser(stream);
  Builder builder(limits);
  int before = -1;
  while (parser.HandleNextDocument(builder)) {
    if (builder.error()) return *builder.error();
    if (builder.start() == before) return malformed(YAML::Mark::null_mark(), "text that belongs to no document");
    if (documents.size() == kDocumentsMax) return malformed(YAML::Mark::null_mark(), "more than 1000 documents");
    documents.push_back(builder.take_document());
    before = builder.start();
  }
  return documents;
}

}  // namespace

Result<std::vector<Json>> parse_yaml_documents(std::string_view text, JsonLimits limits) {
  if (!is_utf8(text)) return malformed(YAML::Mark::null_mark(), "the text is not UTF-8");
  // Besides being no text, they make yaml-cpp guess UTF-16 or UTF-32.
  if (text.contains('\0')) return malformed(YAML::Mark::null_mark(), "the text holds a NUL byte");
  std::istringstream stream{std::string(text)};
  try {  // yaml-cpp reports syntax errors by exceptions
    return read_documents(stream, limits);
  } catch (const YAML::Exception& error) {
    return malformed(error.mark, error.msg);
  }
}

Result<Json> parse_yaml(std::string_view text, JsonLimits limits) {
  std::vector<Json> documents = TRY(parse_yaml_documents(text, limits));
  if (documents.empty()) return Json{};
  if (documents.size() > 1) return malformed(YAML::Mark::null_mark(), "more than one document");
  return std::move(documents.front());
}

}  // namespace moulin
