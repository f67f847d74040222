#include "scheduler/fair_share/divide.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "base/json.h"
#include "base/rng.h"
#include "base/wide.h"

namespace moulin {
namespace {

struct Vector {
  int64_t total = 0;
  std::vector<Contender> contenders{};
  std::vector<int64_t> shares{};
  int64_t left = 0;
};

std::vector<Vector> read_vectors() {
  std::ifstream file("tests/fair_share/division.json");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json document = parse_json(text).value();
  std::vector<Vector> vectors;
  for (const Json& item : document.find("divisions")->items()) {
    Vector& vector = vectors.emplace_back();
    vector.total = item.find("total")->integer().value();
    vector.left = item.find("left")->integer().value();
    for (const Json& of : item.find("contenders")->items()) {
      Contender& contender = vector.contenders.emplace_back();
      contender.guaranteed = of.find("guaranteed")->integer().value();
      contender.demand = of.find("demand")->integer().value();
      if (const Json* limit = of.find("limit")) contender.demand = std::min(contender.demand, limit->integer().value());
      contender.weight = of.find("weight")->integer().value();
      if (const Json* rank = of.find("rank")) contender.rank = rank->integer().value();
      vector.shares.push_back(of.find("share")->integer().value());
    }
  }
  return vectors;
}

int64_t sum(const std::vector<int64_t>& amounts) { return std::accumulate(amounts.begin(), amounts.end(), int64_t{0}); }

// ---- A second way to the same, one that is slow and goes by the sentences of the rules ----

struct Part {
  Wide over = 0;   // numerator ...
  Wide under = 1;  // ... and denominator
};

struct Wanting {
  size_t who = 0;
  Wide need = 0;
  Wide got = 0;
  Part missed{};
};

Part effective_weight(const Contender& contender, Wide all_weights, const Division& division) {
  // w/W + k (w/W - u), in thousandths of millionths over W.
  Wide own = Wide{contender.weight} * 1'000'000 * 1000;
  Wide behind = Wide{contender.weight} * 1'000'000 - Wide{contender.usage_micro} * all_weights;
  Wide weight = own + behind * division.history_milli;
  return {weight < 0 ? 0 : weight, all_weights};
}

// One rank: the round is played on a copy, and played again while it satisfies somebody early.
Wide play(std::vector<Wanting>& all, const std::vector<Contender>& contenders, const Division& division, Wide left) {
  std::vector<Wanting*> hungry;
  Wide all_weights = 0;
  for (Wanting& one : all) {
    if (one.got >= one.need || contenders[one.who].weight == 0) continue;
    hungry.push_back(&one);
    all_weights += contenders[one.who].weight;
  }
  Wide all_effective = 0;
  for (Wanting* one : hungry) all_effective += effective_weight(contenders[one->who], all_weights, division).over;
  if (left <= 0 || all_effective == 0) return left;
  Wide rest = left;
  bool somebody_took_less = false;
  for (Wanting* one : hungry) {
    Wide need = one->need - one->got;
    Part offer{left * effective_weight(contenders[one->who], all_weights, division).over, all_effective};
    one->missed = {};
    Wide taken = 0;
    if (offer.over >= need * offer.under) {
      taken = need;
      somebody_took_less |= offer.over != need * offer.under;
    } else {
      while ((taken + division.unit) * offer.under <= offer.over) taken += division.unit;
      one->missed = {offer.over - taken * offer.under, offer.under};
    }
    one->got += taken;
    rest -= taken;
  }
  return somebody_took_less ? play(all, contenders, division, rest) : rest;
}

std::vector<int64_t> reference(const Division& division, const std::vector<Contender>& contenders) {
  std::vector<int64_t> ranks;
  for (const Contender& contender : contenders) ranks.push_back(contender.rank);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::ranges::reverse(ranks);

  std::vector<Wanting> everybody;
  Wide left = division.total;
  for (size_t i = 0; i < contenders.size(); ++i) {
    Wide first = std::min(contenders[i].guaranteed, contenders[i].demand);
    everybody.push_back({.who = i, .need = contenders[i].demand, .got = first});
    left -= first;
  }
  std::vector<Wanting> done;
  for (int64_t rank : ranks) {
    std::vector<Wanting> members;
    for (const Wanting& one : everybody) {
      if (contenders[one.who].rank == rank) members.push_back(one);
    }
    left = play(members, contenders, division, left);
    std::ranges::sort(members, [](const Wanting& a, const Wanting& b) {
      Wide ours = a.missed.over * b.missed.under;
      Wide theirs = b.missed.over * a.missed.under;
      return ours != theirs ? ours > theirs : a.who < b.who;
    });
    done.insert(done.end(), members.begin(), members.end());
  }
  std::vector<int64_t> shares(contenders.size());
  for (Wanting& one : done) {
    Wide more = std::min({Wide{division.unit}, std::max<Wide>(left, 0), one.need - one.got});
    if (one.missed.over == 0) more = 0;
    left -= more;
    shares[one.who] = static_cast<int64_t>(one.got + more);
  }
  return shares;
}

struct Random {
  Division division{};
  std::vector<Contender> contenders{};
};

Random random_division(uint64_t seed) {
  Rng rng(seed);
  Random made;
  made.division.unit = rng.chance(500) ? 1 : rng.between(2, 10);
  made.division.total = rng.below(200);
  if (rng.chance(400)) made.division.history_milli = rng.between(1, 5000);
  int64_t count = rng.between(1, 8);
  for (int64_t i = 0; i < count; ++i) {
    made.contenders.push_back({.guaranteed = rng.chance(300) ? 0 : rng.below(60),
                               .demand = rng.chance(200) ? 0 : rng.below(120),
                               .weight = rng.chance(150) ? 0 : rng.between(1, 6),
                               .rank = rng.chance(600) ? 0 : rng.between(1, 3),
                               .usage_micro = rng.below(kUsageMax + 1)});
  }
  return made;
}

}  // namespace

TEST_CASE("published divisions come out to the unit") {
  std::vector<Vector> vectors = read_vectors();
  REQUIRE(vectors.size() == 10);
  for (const Vector& vector : vectors) {
    CAPTURE(vector.total);
    std::vector<int64_t> shares = divide({.total = vector.total}, vector.contenders);
    CHECK(shares == vector.shares);
    CHECK(std::max<int64_t>(0, vector.total - sum(shares)) == vector.left);
  }
}

TEST_CASE("what was used before lowers what is given, more so with a larger k") {
  std::vector<Contender> both{{.demand = 16, .usage_micro = 600'000}, {.demand = 16, .usage_micro = 100'000}};
  auto with = [&](int64_t k) { return divide({.total = 16, .history_milli = k}, both); };
  CHECK(with(0) == std::vector<int64_t>{8, 8});
  CHECK(with(500) == std::vector<int64_t>{6, 10});
  CHECK(with(1000) == std::vector<int64_t>{5, 11});
  CHECK(with(4000) == std::vector<int64_t>{1, 15});
}

TEST_CASE("whole devices are given whole, and a need below one exactly") {
  Division devices{.total = 3000, .unit = 1000};
  CHECK(divide(devices, {{.demand = 5000}, {.demand = 5000}}) == std::vector<int64_t>{2000, 1000});
  CHECK(divide(devices, {{.demand = 250}, {.demand = 5000}}) == std::vector<int64_t>{250, 2750});
  CHECK(divide({.total = 3000, .unit = 1}, {{.demand = 5000}, {.demand = 5000}}) == std::vector<int64_t>{1500, 1500});
}

TEST_CASE("large amounts do not overflow") {
  constexpr int64_t kMost = int64_t{1} << 60;
  std::vector<Contender> many(200, {.guaranteed = kMost, .demand = kMost, .weight = 1'000'000});
  CHECK(divide({.total = kMost}, many) == std::vector<int64_t>(200, kMost));
  for (Contender& contender : many) contender.guaranteed = 0;
  std::vector<int64_t> shares = divide({.total = kMost, .history_milli = kHistoryMax}, many);
  CHECK(sum(shares) == kMost);
  CHECK(shares.front() - shares.back() <= 1);
}

TEST_CASE("random divisions keep what they promise") {
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    Random random = random_division(seed);
    const std::vector<Contender>& all = random.contenders;
    std::vector<int64_t> shares = divide(random.division, all);
    CAPTURE(seed);
    REQUIRE(shares == reference(random.division, all));
    int64_t guaranteed = 0;
    bool hungry = false;
    for (size_t i = 0; i < all.size(); ++i) {
      int64_t first = std::min(all[i].guaranteed, all[i].demand);
      guaranteed += first;
      REQUIRE(shares[i] >= first);
      REQUIRE(shares[i] <= all[i].demand);
      if (all[i].weight == 0) REQUIRE(shares[i] == first);
      hungry |= all[i].weight > 0 && shares[i] < all[i].demand;
    }
    REQUIRE(sum(shares) <= std::max(random.division.total, guaranteed));
    bool remembers = random.division.history_milli > 0;  // then somebody may be owed nothing
    if (hungry && !remembers) REQUIRE(sum(shares) >= random.division.total);
  }
}

TEST_CASE("the order of those that differ in age alone decides no more than one unit") {
  for (uint64_t seed = 1; seed <= 5'000; ++seed) {
    Random random = random_division(seed);
    std::vector<Contender> reversed(random.contenders.rbegin(), random.contenders.rend());
    std::vector<int64_t> one = divide(random.division, random.contenders);
    std::vector<int64_t> other = divide(random.division, reversed);
    std::ranges::reverse(other);
    CAPTURE(seed);
    CHECK(sum(one) == sum(other));
    for (size_t i = 0; i < one.size(); ++i) CHECK(std::abs(one[i] - other[i]) <= random.division.unit);
  }
}

TEST_CASE("more weight never means less, but for the rounding of units") {
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    Random random = random_division(seed);
    random.division.history_milli = 0;
    std::vector<int64_t> before = divide(random.division, random.contenders);
    size_t i = seed % random.contenders.size();
    if (random.contenders[i].weight == 0) continue;
    random.contenders[i].weight += 1 + static_cast<int64_t>(seed % 3);
    CAPTURE(seed);
    CHECK(divide(random.division, random.contenders)[i] > before[i] - random.division.unit);
  }
}

}  // namespace moulin
