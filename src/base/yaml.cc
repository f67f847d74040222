// The only file that includes yaml-cpp.
#include "base/yaml.h"

#include <yaml-cpp/yaml.h>

#include <set>
#include <vector>

#include "base/text.h"

namespace moulin {

namespace {

constexpr size_t kDocumentsMax = 1000;

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
    if (digits() == 0) return false;
  }
  return i == text.size();
}

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return Json{text};  // quoted
  if (text == "null" || text == "~" || text.empty()) return Json{};
  if (text == "true") return Json{true};
  if (text == "false") return Json{false};
  if (looks_like_number(text)) return JsonNumber{text};
  return Json{text};
}

class Converter {
 public:
  explicit Converter(JsonLimits limits) : limits_(limits) {}

  Result<Json> convert(const YAML::Node& node, size_t depth) {
    if (depth > limits_.depth_max)
      return malformed(node.Mark(), "nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    if (++values_ > limits_.values_max)
      return malformed(node.Mark(), "more than " + std::to_string(limits_.values_max) + " values");
    if (!node.Tag().empty() && node.Tag() != "?" && node.Tag() != "!")
      return malformed(node.Mark(), "tags are not allowed");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return Json{};
      case YAML::NodeType::Scalar: return scalar(node);
      case YAML::NodeType::Sequence: return sequence(node, depth);
      case YAML::NodeType::Map: return map(node, depth);
    }
    return malformed(node.Mark(), "unknown kind of node");
  }

 private:
  Result<Json> sequence(const YAML::Node& node, size_t depth) {
    JsonArray items;
    for (const YAML::Node& item : node) items.push_back(TRY(convert(item, depth + 1)));
    return Json{std::move(items)};
  }
  Result<Json> map(const YAML::Node& node, size_t depth) {
    JsonObject members;
    std::set<std::string> keys;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return malformed(member.first.Mark(), "a key must be a plain word");
      const std::string& key = member.first.Scalar();
      if (!keys.insert(key).second)
        return malformed(member.first.Mark(), "key \"" + key.substr(0, 100) + "\" is given twice");
      members.emplace_back(key, TRY(convert(member.second, depth + 1)));
    }
    return Json{std::move(members)};
  }

  JsonLimits limits_;
  size_t values_ = 0;
};

}  // namespace

Result<std::vector<Json>> parse_yaml_documents(std::string_view text, JsonLimits limits) {
  if (!is_utf8(text)) return malformed(YAML::Mark::null_mark(), "the text is not UTF-8");
  std::vector<Json> documents;
  try {  // yaml-cpp reports syntax errors by exceptions
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      if (documents.size() == kDocumentsMax) return malformed(node.Mark(), "more than 1000 documents");
      documents.push_back(TRY(Converter(limits).convert(node, 1)));
    }
  } catch (const YAML::Exception& error) {
    return malformed(error.mark, error.msg);
  }
  return documents;
}

Result<Json> parse_yaml(std::string_view text, JsonLimits limits) {
  std::vector<Json> documents = TRY(parse_yaml_documents(text, limits));
  if (documents.empty()) return Json{};
  if (documents.size() > 1) return malformed(YAML::Mark::null_mark(), "more than one document");
  return std::move(documents.front());
}

}  // namespace moulin
