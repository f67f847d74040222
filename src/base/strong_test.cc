#include "base/strong.h"

#include <doctest/doctest.h>

#include <set>
#include <type_traits>

#include "base/rng.h"
#include "base/text.h"

namespace moulin {
namespace {

struct AppleTag {
  static constexpr std::string_view kPrefix = "a-";
};
struct PearTag {
  static constexpr std::string_view kPrefix = "p-";
};
using AppleId = Id<AppleTag>;
using PearId = Id<PearTag>;
using AppleName = Name<AppleTag>;
using PearName = Name<PearTag>;
using Lap = Number<struct LapTag, int32_t>;

static_assert(!std::is_convertible_v<std::string, AppleName>, "a name is made on purpose");
static_assert(!std::is_constructible_v<AppleName, PearName>);
static_assert(!std::is_convertible_v<AppleId, PearId>);
static_assert(PearTag::kPrefix != AppleTag::kPrefix);
static_assert(!std::is_convertible_v<AppleId, int>);
static_assert(!std::is_convertible_v<Lap, int32_t>);

Result<uint64_t> read(std::string_view text) { return parse_id("a-", text); }

}  // namespace

TEST_CASE("ids in text") {
  CHECK(to_text(AppleId{0}) == "a-0000000000000");
  CHECK(to_text(AppleId{31}) == "a-000000000000z");
  CHECK(to_text(AppleId{32}) == "a-0000000000010");
  CHECK(to_text(AppleId{UINT64_MAX}) == "a-fzzzzzzzzzzzz");
  CHECK(*read("a-fzzzzzzzzzzzz") == UINT64_MAX);
  CHECK(*read("a-0000000000010") == 32);
}

TEST_CASE("every id is read back as itself, and text has the order of the numbers") {
  Rng rng(3);
  std::string before;
  uint64_t number_before = 0;
  for (int i = 0; i < 5'000; ++i) {
    uint64_t number = rng.next() >> rng.below(64);
    std::string text = to_text(AppleId{number});
    CAPTURE(text);
    CHECK(*read(text) == number);
    if (i > 0) CHECK((before < text) == (number_before < number));
    before = text;
    number_before = number;
  }
}

TEST_CASE("what is not an id is refused") {
  for (std::string_view text : {"", "a-", "a-000000000000", "a-00000000000000", "p-0000000000001", "0000000000001",
                                "a-g000000000000",  // beyond 64 bits
                                "a-000000000000Z", "a-000000000000i", "a-000000000000l", "a-000000000000o",
                                "a-000000000000u", "a-00000000000 1", "a--000000000001", "A-0000000000001"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text));
  }
  CHECK_FALSE(read(std::string_view("a-000000000000\0", 15)));
  CHECK(read("nonsense").error().allowed == "a- and 13 letters and digits");
  std::string long_text = "a";
  for (int i = 0; i < 300; ++i) long_text += "é";
  CHECK(is_utf8(read(long_text).error().given));
}

TEST_CASE("ids, names and numbers compare and order") {
  CHECK_FALSE(AppleId{});
  CHECK(AppleId{1});
  CHECK(AppleId{1} < AppleId{2});
  CHECK(AppleName("a") < AppleName("b"));
  CHECK(AppleName().empty());
  CHECK(to_text(AppleName("x")) == "x");
  CHECK(Lap{1}.next() == Lap{2});
  CHECK(std::set<AppleName>{AppleName("b"), AppleName("a")}.begin()->text == "a");
}

}  // namespace moulin
