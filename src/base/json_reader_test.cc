#include "base/json_reader.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

Json parsed(std::string_view text) {
  Result<Json> value = parse_json(text);
  REQUIRE(value);
  return *value;
}

enum class Colour { kRed, kGreen };

}  // namespace

template <>
inline constexpr auto kWords<Colour> = std::to_array<std::string_view>({"red", "green"});

constexpr std::string_view kKnown[] = {"name", "replicas"};
constexpr std::string_view kNotBuilt[] = {"idle"};
constexpr Fields kFields{.known = kKnown, .not_built = kNotBuilt};

TEST_CASE("an object with known members is read") {
  Json document = parsed(R"({"name": 1, "replicas": null})");
  Result<ObjectReader> reader = ObjectReader::open(document, "x", kFields);
  REQUIRE(reader);
  REQUIRE(reader->find("name"));
  CHECK(reader->find("name")->number() == "1");
  CHECK_FALSE(reader->find("replicas"));
  CHECK(reader->require("name").value()->number() == "1");
  CHECK(reader->require("replicas").error().message == "is missing");
  CHECK(reader->require("replicas").error().field == "x.replicas");
}

TEST_CASE("an unknown member is named, with the nearest known one") {
  Result<ObjectReader> reader = ObjectReader::open(parsed(R"({"replica": 2})"), "resources", kFields);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().field == "resources.replica");
  CHECK(reader.error().message == "unknown field");
  CHECK(reader.error().allowed == "name or replicas");
  CHECK(reader.error().to_do == "did you mean `replicas`?");
  CHECK(ObjectReader::open(parsed(R"({"zzz": 2})"), "", kFields).error().to_do == "remove it");
}

TEST_CASE("a member that is promised for later is refused by name, unless null") {
  Result<ObjectReader> reader = ObjectReader::open(parsed(R"({"idle": {}})"), "", kFields);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().message == "`idle` is not built yet");
  CHECK(reader.error().to_do == "remove it");
  CHECK(ObjectReader::open(parsed(R"({"idle": null})"), "", kFields));
}

TEST_CASE("only objects open") {
  CHECK_FALSE(ObjectReader::open(parsed("[1]"), "x", kFields));
  CHECK(ObjectReader::open(parsed("3"), "", kFields).error().field == "document");
}

TEST_CASE("integers keep to their range and form") {
  IntegerRange range{.min = -3, .max = 9};
  CHECK(read_integer(parsed("-3"), "n", range).value() == -3);
  CHECK(read_integer(parsed("9"), "n", range).value() == 9);
  for (const char* bad : {"-4", "10", "1.0", "1e0", "\"1\"", "99999999999999999999", "true", "[1]"}) {
    Result<int64_t> read = read_integer(parsed(bad), "n", range);
    REQUIRE_FALSE(read);
    CHECK(read.error().field == "n");
    CHECK(read.error().allowed == "a whole number from -3 to 9");
  }
}

TEST_CASE("text has bounds, no NUL and valid UTF-8") {
  TextLimits limits{.bytes_min = 1, .bytes_max = 4};
  CHECK(read_text(Json("abcd"), "t", limits).value() == "abcd");
  CHECK(read_text(Json(""), "t", limits).error().message == "is empty");
  CHECK(read_text(Json("abcde"), "t", limits).error().message == "is too long: 5 bytes");
  CHECK(read_text(Json(std::string("a\0b", 3)), "t", limits).error().message == "holds a NUL byte");
  CHECK(read_text(Json("a\xff"), "t", limits).error().message == "is not UTF-8");
  CHECK(read_text(Json(5), "t", limits).error().allowed == "text: put it into quotes");
}

TEST_CASE("lists have a length at most") {
  CHECK(read_list(parsed("[1, 2]"), "l", 2).value()->size() == 2);
  CHECK(read_list(parsed("[1, 2, 3]"), "l", 2).error().given == "3 items");
  CHECK_FALSE(read_list(parsed("{}"), "l", 2));
}

TEST_CASE("words are those of the enum") {
  CHECK(read_word<Colour>(Json("green"), "c", "colour").value() == Colour::kGreen);
  Result<Colour> wrong = read_word<Colour>(Json("gren"), "c", "colour");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().field == "c");
  CHECK(wrong.error().to_do == "did you mean \"green\"?");
  CHECK(read_word<Colour>(Json(1), "c", "colour").error().allowed == "red or green");
}

TEST_CASE("booleans are true and false") {
  CHECK(read_boolean(Json(true), "b").value());
  CHECK_FALSE(read_boolean(Json("true"), "b"));
}

TEST_CASE("paths read as a person writes them") {
  CHECK(member_path("", "a") == "a");
  CHECK(member_path("a", "b") == "a.b");
  CHECK(member_path("", "") == "\"\"");
  CHECK(item_path("a", 2) == "a[2]");
  CHECK(at_path("a", Error{.message = "m", .field = "b"}).field == "a.b");
  CHECK(at_path("a", Error{.message = "m", .field = "[0]"}).field == "a[0]");
  CHECK(at_path("a", Error{}).field == "a");
}

}  // namespace moulin
