#include "base/codec.h"

#include <doctest/doctest.h>

#include "base/rng.h"

namespace moulin {
namespace {

struct Small {
  int64_t x = 7;
  std::string label{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "x", self.x);
    visit(3, "label", self.label);
  }
  bool operator==(const Small&) const = default;
};
struct Other {
  bool on = false;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) { visit(1, "on", self.on); }
  bool operator==(const Other&) const = default;
};

struct Large {
  Share share{};
  std::optional<int64_t> maybe{};
  std::vector<Small> list{};
  std::map<std::string, std::vector<int64_t>> map{};
  std::variant<Small, Other> either{};
  CowMap<int64_t, Cow<Small>> shared{};
  std::set<std::string> set{};
  std::optional<Small> nested{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "share", self.share);
    visit(2, "maybe", self.maybe);
    visit(3, "list", self.list);
    visit(4, "map", self.map);
    visit(5, "either", self.either);
    visit(6, "shared", self.shared);
    visit(7, "set", self.set);
    visit(8, "nested", self.nested);
  }
  bool operator==(const Large&) const = default;
};

struct Full {
  std::string pool = "default";
  std::set<int64_t> words{1, 2};
  Cow<Small> inner{Small{1, "one"}};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "pool", self.pool);
    visit(2, "words", self.words);
    visit(3, "inner", self.inner);
  }
  bool operator==(const Full&) const = default;
};

// What Small may look like in a later release.
struct SmallLater {
  int64_t x = 7;
  int64_t extra = 11;
  std::string label{};
  std::vector<std::string> more{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "x", self.x);
    visit(2, "extra", self.extra);
    visit(3, "label", self.label);
    visit(4, "more", self.more);
  }
};

Large sample() {
  Large large;
  large.share = {250};
  large.maybe = -3;
  large.list = {{1, "one"}, {INT64_MIN, ""}, {INT64_MAX, std::string(300, 'x')}};
  large.map = {{"a", {1, 2, 3}}, {"b", {}}};
  large.either = Other{true};
  for (int64_t i = 0; i < 200; ++i) large.shared.set(i * 7 % 200, Cow<Small>(Small{i, "s"}));
  large.set = {"q", "r"};
  large.nested = Small{};
  return large;
}

TEST_CASE("codec: what was written is read back") {
  Large large = sample();
  Result<Large> back = decode<Large>(encode(large));
  REQUIRE(back);
  CHECK(*back == large);
  CHECK(encode(*back) == encode(large));
  CHECK(*decode<Large>(encode(Large{})) == Large{});
}

TEST_CASE("codec: what is emptied is read back empty, whatever its default") {
  CHECK(*decode<Full>(encode(Full{})) == Full{});
  Full emptied{.pool = {}, .words = {}, .inner = Cow<Small>{Small{0, ""}}};
  Result<Full> back = decode<Full>(encode(emptied));
  REQUIRE(back);
  CHECK(*back == emptied);
  CHECK(decode<Full>("")->pool == "default");
}

TEST_CASE("codec: old bytes are read by new code and the reverse") {
  Result<SmallLater> later = decode<SmallLater>(encode(Small{5, "five"}));
  REQUIRE(later);
  CHECK(later->x == 5);
  CHECK(later->extra == 11);
  CHECK(later->label == "five");
  Result<Small> earlier = decode<Small>(encode(SmallLater{6, 1, "six", {"m"}}));
  REQUIRE(earlier);
  CHECK(*earlier == Small{6, "six"});
}

TEST_CASE("codec: damaged bytes are refused or read, never a crash") {
  std::string good = encode(sample());
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (int64_t flips = rng.between(1, 4); flips > 0; --flips) {
      bad[static_cast<size_t>(rng.below(static_cast<int64_t>(bad.size())))] ^= static_cast<char>(1 << rng.below(8));
    }
    if (rng.chance(300)) bad.resize(static_cast<size_t>(rng.below(static_cast<int64_t>(bad.size()))));
    Result<Large> read = decode<Large>(bad);
    if (read) CHECK(decode<Large>(encode(*read)).has_value());
  }
  CHECK_FALSE(decode<Small>(good.substr(0, 5)).has_value());
}

}  // namespace
}  // namespace moulin
