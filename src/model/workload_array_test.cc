#include "model/workload_array.h"

#include <doctest/doctest.h>

#include <string>

#include "base/yaml.h"

namespace moulin {

namespace {

Result<std::vector<WorkloadElement>> read(std::string_view yaml) {
  return read_workloads(parse_yaml(yaml).value(), {.name = "sweep"});
}

Error error_of(std::string_view range) {
  CAPTURE(range);
  Result<std::vector<WorkloadElement>> elements = read("{run: x, array: " + std::string(range) + "}");
  REQUIRE_FALSE(elements);
  CHECK(elements.error().field == "array");
  return elements.error();
}

}  // namespace

TEST_CASE("a document without array is one workload of a user") {
  std::vector<WorkloadElement> elements = read("run: x").value();
  REQUIRE(elements.size() == 1);
  CHECK(elements[0].spec.name == "sweep");
  CHECK(elements[0].origin == Origin{});
}

TEST_CASE("an array becomes its elements, in order") {
  std::vector<WorkloadElement> elements = read("{run: x, array: 8-10, env: {A: b}}").value();
  REQUIRE(elements.size() == 3);
  CHECK(elements[0].spec.name == "sweep-8");
  CHECK(elements[2].spec.name == "sweep-10");
  CHECK(elements[2].origin == Origin{.kind = OriginKind::kArray, .name = "sweep", .index = 10});
  CHECK(elements[2].spec.environment.at("MOULIN_ARRAY_INDEX") == "10");
  CHECK(elements[2].spec.environment.at("A") == "b");
  CHECK(read("{run: x, array: \"5-5\"}").value().size() == 1);
  CHECK(read("{run: x, array: 0-9999}").value().size() == 10'000);
}

TEST_CASE("each element of an array has a checkpoint of its own") {
  auto path_of = [](const std::string& path) {
    return read("{run: x, array: 8-10, checkpoint: {path: '" + path + "'}}").value().back().spec.checkpoint_path;
  };
  CHECK(path_of("ckpt") == "ckpt-10");
  CHECK(path_of("ckpt/model.pt") == "ckpt/model-10.pt");
  CHECK(path_of("/data.d/ckpt") == "/data.d/ckpt-10");
  CHECK(path_of("out/.saved") == "out/.saved-10");
  CHECK(path_of("out/{index}/model.pt") == "out/10/model.pt");
  CHECK(path_of("out/{index}/m-{index}.pt") == "out/10/m-10.pt");
  CHECK(read("{run: x, array: 8-10, checkpoint: {}}").value().back().spec.checkpoint_path.empty());
  CHECK(read("{run: x, checkpoint: {path: 'a{index}'}}").value().front().spec.checkpoint_path == "a{index}");
}

TEST_CASE("an element is written without what Moulin set") {
  WorkloadElement element = read("{run: x, array: 8-10}").value().front();
  CHECK(write_workload(element.spec).find("env") == nullptr);
}

TEST_CASE("a range has two ends in order") {
  CHECK(error_of("5").to_do == "write both ends: `0-4` for five elements");
  CHECK(error_of("9-3").message == "ends before it begins");
  CHECK(error_of("0-10000").message == "has 10001 elements");
  CHECK(error_of("0-999999999").message == "has 1000000000 elements");
  for (const char* bad : {"-5", "'-5-3'", "5-", "a-b", "'0 - 3'", "0-1000000000", "1-2-3", "[0, 1]", "true", "0x1-3",
                          "0-99%5", "'1,3'"}) {
    error_of(bad);
  }
}

TEST_CASE("the longest name of an element is still a name") {
  std::string name(60, 'x');
  CHECK(read("{run: x, array: 0-9, name: " + name + "}"));
  Error error = read("{run: x, array: 0-100, name: " + name + "}").error();
  CHECK(error.field == "name");
  CHECK(error.to_do == "choose a shorter name: each element has its index behind it");
}

TEST_CASE("a large array of large specs is refused before it takes memory") {
  Error error = read("{run: " + std::string(60'000, 'x') + ", array: 0-9999}").error();
  CHECK(error.field == "array");
  CHECK(error.to_do.starts_with("put what all elements share into a file"));
}

TEST_CASE("where one workload is wanted an array is refused") {
  Result<WorkloadSpec> spec = read_workload(parse_yaml("{run: x, array: 0-3}").value(), {.name = "a"});
  REQUIRE_FALSE(spec);
  CHECK(spec.error().given == "4 elements");
}

}  // namespace moulin
