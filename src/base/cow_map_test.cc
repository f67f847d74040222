#include "base/cow_map.h"

#include <doctest/doctest.h>

#include <map>

#include "base/rng.h"

namespace moulin {
namespace {

TEST_CASE("cow_map: behaves like std::map, and copies stay as they were") {
  Rng rng(7);
  CowMap<int64_t, int64_t> map;
  std::map<int64_t, int64_t> model;
  CowMap<int64_t, int64_t> copy;
  std::map<int64_t, int64_t> copy_model;
  for (int step = 0; step < 20'000; ++step) {
    int64_t key = rng.below(700);
    switch (rng.below(4)) {
      case 0:
      case 1: map.set(key, step); model[key] = step; break;
      case 2: CHECK(map.erase(key) == (model.erase(key) == 1)); break;
      case 3:
        if (int64_t* value = map.find_mutable(key)) model.at(key) = ++*value;
        else CHECK_FALSE(model.contains(key));
    }
    if (step % 997 == 0) {
      copy = map;
      copy_model = model;
    }
    if (step % 100 != 0) continue;
    CHECK(map.size() == model.size());
    CHECK(std::equal(map.begin(), map.end(), model.begin(), model.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    auto back = map.end();
    for (auto wanted = model.rbegin(); wanted != model.rend(); ++wanted) CHECK((--back)->first == wanted->first);
    CHECK(back == map.begin());
    auto at = map.lower_bound(key);
    auto model_at = model.lower_bound(key);
    CHECK((at == map.end()) == (model_at == model.end()));
    if (model_at != model.end()) CHECK(at->first == model_at->first);
  }
  CHECK(copy.size() == copy_model.size());
  for (const auto& [key, value] : copy_model) CHECK(copy.at(key) == value);
}

TEST_CASE("cow_map: ascending keys and an emptied map") {
  CowMap<int64_t, int64_t> map;
  for (int64_t i = 0; i < 10'000; ++i) map.set(i, i);
  CHECK(map.size() == 10'000);
  for (int64_t i = 0; i < 10'000; ++i) CHECK(map.erase(i));
  CHECK(map.empty());
  CHECK(map.begin() == map.end());
  CHECK_FALSE(map.erase(3));
}

}  // namespace
}  // namespace moulin
