#include "base/yaml.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

std::string json_of(std::string_view yaml) {
  Result<Json> value = parse_yaml(yaml);
  return value ? write_json(*value) : value.error().message;
}

bool refused_with(std::string_view yaml, std::string_view words) {
  CAPTURE(yaml);
  Result<Json> value = parse_yaml(yaml);
  if (value) return false;
  INFO(value.error().message);
  return value.error().code == Code::kInvalid && value.error().message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("plain scalars have types and quoted ones are text") {
  CHECK(json_of("[1, -0.5, 1e3, true, null, ~, word, '1', \"true\", 0x10, 01, 12:30]") ==
        R"([1,-0.5,1e3,true,null,null,"word","1","true","0x10","01","12:30"])");
  CHECK(json_of("a: 1\nb:\n  - c: {d: e}\n  - []\nf:\n") == R"({"a":1,"b":[{"c":{"d":"e"}},[]],"f":null})");
  CHECK(json_of("a: |\n  one\n  two\n") == R"({"a":"one\ntwo\n"})");
  CHECK(json_of("") == "null");
  CHECK(json_of("[1e99, 1e100]") == R"([1e99,"1e100"])");
}

TEST_CASE("an alias stands for what its anchor names") {
  CHECK(json_of("a: &x {b: 1}\nc: *x\nd: [*x, *x]\n") == R"({"a":{"b":1},"c":{"b":1},"d":[{"b":1},{"b":1}]})");
  CHECK(refused_with("a: &x [*x]\n", "inside what it names"));
}

TEST_CASE("aliases of aliases count against the limit before they are copied") {
  std::string yaml = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 20; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) yaml += ", " + before;
    yaml += "]\n";
  }
  CHECK(refused_with(yaml, "more than 1000000 values"));
}

TEST_CASE("what is ambiguous or unsafe is refused with its place") {
  CHECK(refused_with("a: 1\na: 2\n", "line 2, column 1: key \"a\" is given twice"));
  CHECK(refused_with("[1, 2]: 3\n", "a key must be a plain word"));
  CHECK(refused_with("~: 3\n", "a key must be a plain word"));
  CHECK(refused_with("a: !!python/object:os.system x\n", "tags are not allowed"));
  CHECK(refused_with("a: b\n---\nc: d\n", "more than one document"));
  CHECK(refused_with("a: [1, 2\n", "not valid YAML at line"));
  CHECK(refused_with("a: \xff\n", "not UTF-8"));
  CHECK(refused_with(std::string_view("a\0\0\0b", 5), "NUL byte"));
  CHECK(refused_with(std::string(40, '[') + std::string(40, ']'), "nested deeper than 32 levels"));
  CHECK(refused_with(std::string(100'000, '['), "not valid YAML"));
}

TEST_CASE("text that the parser never gets past is refused") {
  CHECK(refused_with("&x,0\n", "belongs to no document"));
  CHECK(refused_with("{\"a\":b\"c\"},\"d\":{\"e\":\"f\"}}\n", "not valid YAML"));
}

TEST_CASE("documents are separated by three dashes") {
  Result<std::vector<Json>> documents = parse_yaml_documents("a: 1\n---\nb: &x 2\n---\n[]\n");
  REQUIRE(documents);
  REQUIRE(documents->size() == 3);
  CHECK(write_json((*documents)[1]) == R"({"b":2})");
  CHECK_FALSE(parse_yaml_documents("a: &x 1\n---\nb: *x\n"));

  std::string many;
  for (int i = 0; i < 1001; ++i) many += "---\na\n";
  CHECK(parse_yaml_documents(many).error().message.find("more than 1000 documents") != std::string::npos);
}

}  // namespace moulin
