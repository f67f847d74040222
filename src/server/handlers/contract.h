// For tests: api/openapi.yaml, read as a document, against which answers are held. It
// shares nothing with the generated types, so a mistake there is found here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/yaml.h"

namespace moulin::testing {

class Contract {
 public:
  explicit Contract(std::string_view yaml) {
    Result<Json> parsed = parse_yaml(yaml);
    MOULIN_CHECK(parsed.has_value(), parsed ? "" : parsed.error().to_text());
    document_ = std::move(*parsed);
  }

  // What in the body of an answer is not as the contract says; empty: nothing. `path` is
  // as in the contract ("/api/v1/workloads/{workload}").
  std::string complaint(std::string_view path, std::string_view method, std::string_view status,
                        const Json& body) const {
    const Json* at = &document_;
    for (std::string_view key : {std::string_view("paths"), path, method, std::string_view("responses"), status}) {
      at = at->find(key);
      if (at == nullptr) return std::string(key) + " is not in the contract";
    }
    for (std::string_view key : {"content", "application/json", "schema"}) at = at == nullptr ? at : at->find(key);
    return at == nullptr ? "no schema" : check(*at, body, "$");
  }
  // The same for a named schema.
  std::string complaint(std::string_view schema, const Json& value) const {
    return check(resolve("#/components/schemas/" + std::string(schema)), value, "$");
  }

 private:
  const Json& resolve(std::string_view reference) const {
    const Json* at = &document_;
    for (size_t begin = 2; begin <= reference.size() && at != nullptr;) {  // after "#/"
      size_t end = std::min(reference.find('/', begin), reference.size());
      at = at->find(reference.substr(begin, end - begin));
      begin = end + 1;
    }
    MOULIN_CHECK(at != nullptr, reference);
    return *at;
  }

  std::string check(const Json& schema, const Json& value, const std::string& where) const {
    if (const Json* reference = schema.find("$ref")) return check(resolve(reference->string()), value, where);
    if (const Json* choices = schema.find("anyOf")) {
      for (const Json& choice : choices->items()) {
        if (check(choice, value, where).empty()) return "";
      }
      return where + " is none of its choices";
    }
    if (const Json* type = schema.find("type"); type != nullptr && !has_type(*type, value)) {
      return where + " is " + std::string(type_text(value.type())) + " and not " + write_json(*type);
    }
    if (const Json* words = schema.find("enum")) {
      if (std::ranges::find(words->items(), value) == words->items().end()) return where + ": " + write_json(value);
    }
    if (value.is_array()) return check_items(schema, value, where);
    return value.is_object() ? check_members(schema, value, where) : "";
  }

  std::string check_items(const Json& schema, const Json& value, const std::string& where) const {
    const Json* items = schema.find("items");
    for (size_t i = 0; items != nullptr && i < value.items().size(); ++i) {
      std::string wrong = check(*items, value.items()[i], where + "[" + std::to_string(i) + "]");
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_members(const Json& schema, const Json& value, const std::string& where) const {
    if (const Json* required = schema.find("required")) {
      for (const Json& key : required->items()) {
        if (value.find(key.string()) == nullptr) return where + " lacks " + key.string();
      }
    }
    const Json* properties = schema.find("properties");
    const Json* others = schema.find("additionalProperties");
    for (const auto& [key, member] : value.members()) {
      const Json* rule = properties == nullptr ? nullptr : properties->find(key);
      if (rule == nullptr && others == nullptr) return where + "." + key + " is not in the contract";
      if (rule == nullptr && others->is_bool()) continue;
      std::string wrong = check(rule == nullptr ? *others : *rule, member, where + "." + key);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  static bool has_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      return std::ranges::any_of(type.items(), [&](const Json& one) { return has_type(one, value); });
    }
    const std::string& word = type.string();
    switch (value.type()) {
      case Json::Type::kNull: return word == "null";
      case Json::Type::kBool: return word == "boolean";
      case Json::Type::kNumber: return word == "number" || (word == "integer" && value.integer().has_value());
      case Json::Type::kString: return word == "string";
      case Json::Type::kArray: return word == "array";
      case Json::Type::kObject: return word == "object";
    }
    MOULIN_UNREACHABLE();
  }

  Json document_;
};

}  // namespace moulin::testing
