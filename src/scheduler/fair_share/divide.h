// How one amount is divided among the children of a tree node: section 3 of the rules, for
// one pool, one resource and one level. Pure arithmetic, integers only.
//
//   1. Everyone gets min(guaranteed, demand), also where that is more than there is.
//   2. What is left goes to the unsatisfied, higher ranks first, and within a rank in
//      proportion to effective weight, in rounds, until nothing is left or nobody wants more.
//   3. What whole units leave over goes unit by unit, higher ranks first, to the largest
//      fraction of a unit that was not given, then to the older.
//
// Nobody gets more than its demand, or, for its weight, more than its guarantee without weight.
#pragma once

#include <cstdint>
#include <vector>

namespace moulin {

// One who takes part. Amounts are in the unit of the resource and at most kQuotaAmountMax.
struct Contender {
  int64_t guaranteed = 0;
  int64_t demand = 0;       // what runs and what could start; at most its limit
  int64_t weight = 1;       // 0: nothing beyond the guarantee; at most kWeightMax
  int64_t rank = 0;         // larger first
  int64_t usage_micro = 0;  // decayed use in millionths of the decayed capacity, 0 to kUsageMax
};
inline constexpr int64_t kUsageMax = 1'000'000;

struct Division {
  int64_t total = 0;
  int64_t unit = 1;           // larger than 0: amounts beyond guarantees are multiples of it, or exact needs
  int64_t history_milli = 0;  // k in thousandths; 0: what was used before counts for nothing; at most kHistoryMax
};
inline constexpr int64_t kHistoryMax = 1'000'000;

// Of each contender its share, in their order, which is that of their age: the oldest first.
// Cost: contenders times ranks times rounds; each round but the last satisfies somebody.
std::vector<int64_t> divide(const Division& division, const std::vector<Contender>& contenders);

}  // namespace moulin
