#include "cli/view.h"

#include <doctest/doctest.h>

#include <sstream>

#include "cli/columns.h"
#include "cli/table.h"

namespace moulin::cli {

TEST_CASE("colours only when the view has them") {
  CHECK(paint("x", Ink::kRed, {}) == "x");
  CHECK(paint("x", Ink::kRed, {.colour = View::Colour::kOn}) == "\x1b[31mx\x1b[0m");
  CHECK(paint("x", Ink::kPlain, {.colour = View::Colour::kOn}) == "x");
}

TEST_CASE("what others wrote cannot move the cursor") {
  CHECK(printable("a\x1b[2Jb\nc\td\x7f") == "a\\x1b[2Jb\\nc\\td\\x7f");
  CHECK(printable("a\xc2\x9b"
                  "31m") == "a\\x9b31m");
  CHECK(printable("häß 日本") == "häß 日本");
}

TEST_CASE("prose is broken at blanks") {
  View narrow{.width = 30};
  CHECK(wrapped("one two three four five six seven", "  ", narrow) == "  one two three four five six\n  seven\n");
  CHECK(wrapped("", "  ", narrow) == "  \n");
  std::string long_word(50, 'x');
  CHECK(wrapped("a " + long_word, "", narrow) == "a\n" + long_word + "\n");
}

TEST_CASE("a table has columns as wide as their cells") {
  Table table({{"NAME"}, {"GPU", Align::kRight}, {"EMPTY"}, {"WHY"}});
  table.add({{"a"}, {"0.25"}, {""}, {"no room"}});
  table.add({{"longer-name"}, {"2"}, {""}, {""}});
  CHECK(table.text({}) ==
        "NAME          GPU  WHY\n"
        "a            0.25  no room\n"
        "longer-name     2\n");
  CHECK(Table({{"NAME"}}).text({}).empty());
}

TEST_CASE("the last column ends at the edge of the terminal") {
  Table table({{"NAME"}, {"WHY"}});
  table.add({{"a"}, {"a sentence that is far too long"}});
  CHECK(table.text({.width = 20}) == "NAME  WHY\na     a sentence th…\n");
  CHECK(table.text({.width = 8}) == "NAME  W…\na     a…\n");
}

TEST_CASE("no line of a table is wider than its terminal, and ids stay whole") {
  Table table({{"ID", Align::kLeft, Fit::kWhole}, {"NAME"}, {"GPU", Align::kRight}, {"WHY"}});
  table.add({{"w-0c9k2v7m3x1qz"}, {"a-name-that-is-rather-long"}, {"0.25"}, {"a sentence that is far too long"}});
  table.add({{"w-0c9k2v7m3x1r0"}, {"日本語の名前はとても広い"}, {"16"}, {"short"}});
  for (int32_t width = 1; width < 90; ++width) {
    std::istringstream lines(table.text({.width = width}));
    for (std::string line; std::getline(lines, line);)
      CHECK_MESSAGE(columns_of(line) <= static_cast<size_t>(width), line);
  }
  std::string narrow = table.text({.width = 50});
  CHECK(narrow.find("w-0c9k2v7m3x1qz") != std::string::npos);
  CHECK(narrow.find("0.25") != std::string::npos);
  CHECK(narrow.find("a-name-that-…") != std::string::npos);
  CHECK(table.text({.width = 200}) == table.text({}));
}

TEST_CASE("facts stand one below the other") {
  Facts facts;
  facts.add("state", "running");
  facts.add("none", "");
  facts.add("id", "a\nb");
  CHECK(facts.text({}) == "state  running\nid     a\\nb\n");
  facts.add("waits", "it needs more than there is today");
  CHECK(facts.text({.width = 28}) ==
        "state  running\nid     a\\nb\nwaits  it needs more than\n       there is today\n");
}

}  // namespace moulin::cli
