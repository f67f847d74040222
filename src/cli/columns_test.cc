#include "cli/columns.h"

#include <doctest/doctest.h>

namespace moulin::cli {

TEST_CASE("wide characters take two columns, combining ones none") {
  CHECK(columns_of("häß") == 3);
  CHECK(columns_of("日本") == 4);
  CHECK(columns_of("한글") == 4);
  CHECK(columns_of("ｆｕ") == 4);
  CHECK(columns_of("🚀") == 2);
  CHECK(columns_of("e\u0301") == 1);
  CHECK(columns_of("a\u200bb") == 2);
  CHECK(columns_of("…→±") == 3);
  CHECK(columns_of("a\xff\xc3") == 3);
}

TEST_CASE("text is cut at characters") {
  CHECK(cut_to("häßlich", 7) == "häßlich");
  CHECK(cut_to("häßlich", 4) == "häß…");
  CHECK(cut_to("häßlich", 1) == "…");
  CHECK(cut_to("日本語", 6) == "日本語");
  CHECK(cut_to("日本語", 5) == "日本…");
  CHECK(cut_to("日本語", 4) == "日…");
  CHECK(cut_to("e\u0301e\u0301e\u0301", 2) == "e\u0301…");
}

TEST_CASE("text is broken at blanks, which are kept inside a line") {
  using Lines = std::vector<std::string>;
  CHECK(broken("one two three", 7) == Lines{"one two", "three"});
  CHECK(broken("one  two", 20) == Lines{"one  two"});
  CHECK(broken("a-word-that-is-long b", 5) == Lines{"a-word-that-is-long", "b"});
  CHECK(broken("", 5) == Lines{""});
}

}  // namespace moulin::cli
