#include "scheduler/fair_share/divide.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "base/wide.h"

namespace moulin {

namespace {

// A part of a unit that was offered and not given. Within one rank all are of the same whole.
struct Fraction {
  Wide part = 0;
  size_t of = 0;  // contender
};

class Divider {
 public:
  Divider(const Division& division, const std::vector<Contender>& contenders)
      : division_(division), contenders_(contenders), shares_(contenders.size()), left_(division.total) {}

  std::vector<int64_t> run() {
    give_guarantees();
    std::set<int64_t, std::greater<>> ranks;
    for (const Contender& contender : contenders_) ranks.insert(contender.rank);
    std::vector<Fraction> fractions;
    for (int64_t rank : ranks) {
      std::vector<Fraction> of_rank = fill_rank(rank);
      fractions.insert(fractions.end(), of_rank.begin(), of_rank.end());
    }
    give_left_over(fractions);
    return std::move(shares_);
  }

 private:
  int64_t need(size_t i) const { return contenders_[i].demand - shares_[i]; }

  void give(size_t i, int64_t amount) {
    shares_[i] += amount;
    left_ -= amount;
  }

  void give_guarantees() {
    for (size_t i = 0; i < shares_.size(); ++i) give(i, std::min(contenders_[i].guaranteed, contenders_[i].demand));
  }

  std::vector<size_t> unsatisfied(int64_t rank) const {
    std::vector<size_t> all;
    for (size_t i = 0; i < shares_.size(); ++i) {
      if (contenders_[i].rank == rank && contenders_[i].weight > 0 && need(i) > 0) all.push_back(i);
    }
    return all;
  }

  // max(0, w/W + k (w/W - u)), times W and a constant, so that it is whole.
  std::vector<Wide> weights(const std::vector<size_t>& members) const {
    constexpr Wide kScale = Wide{1000} * kUsageMax;
    Wide all = 0;
    for (size_t i : members) all += contenders_[i].weight;
    std::vector<Wide> weights;
    for (size_t i : members) {
      Wide weight = contenders_[i].weight;
      Wide behind = weight * kUsageMax - contenders_[i].usage_micro * all;
      weights.push_back(std::max<Wide>(0, weight * kScale + division_.history_milli * behind));
    }
    return weights;
  }

  // The fractions that its last round did not give, largest first.
  std::vector<Fraction> fill_rank(int64_t rank) {
    std::vector<Fraction> fractions;
    for (bool again = true; again && left_ > 0;) {
      again = false;
      fractions.clear();
      std::vector<size_t> members = unsatisfied(rank);
      std::vector<Wide> weights = this->weights(members);
      Wide all = 0;
      for (Wide weight : weights) all += weight;
      if (all == 0) break;
      const Wide offered = left_;
      for (size_t m = 0; m < members.size(); ++m) {
        size_t i = members[m];
        Wide offer = offered * weights[m];  // over `all`
        if (need(i) <= offer / all) {
          again = again || need(i) < offer / all || offer % all > 0;
          give(i, need(i));
          continue;
        }
        Wide units = offer / (all * division_.unit);
        give(i, static_cast<int64_t>(units) * division_.unit);
        fractions.push_back({offer - units * all * division_.unit, i});
      }
    }
    std::ranges::sort(fractions, [](const Fraction& a, const Fraction& b) {
      return a.part != b.part ? a.part > b.part : a.of < b.of;
    });
    return fractions;
  }

  void give_left_over(const std::vector<Fraction>& fractions) {
    for (const Fraction& fraction : fractions) {
      if (left_ <= 0) return;
      if (fraction.part > 0)
        give(fraction.of, static_cast<int64_t>(std::min({Wide{division_.unit}, left_, Wide{need(fraction.of)}})));
    }
  }

  const Division& division_;
  const std::vector<Contender>& contenders_;
  std::vector<int64_t> shares_;
  Wide left_;  // below 0 where guarantees are more than there is
};

}  // namespace

std::vector<int64_t> divide(const Division& division, const std::vector<Contender>& contenders) {
  MOULIN_CHECK(division.unit > 0 && division.history_milli >= 0 && division.history_milli <= kHistoryMax,
               "a division in units");
  for (const Contender& contender : contenders) {
    MOULIN_CHECK(contender.guaranteed >= 0 && contender.demand >= 0 && contender.weight >= 0 &&
                     contender.usage_micro >= 0 && contender.usage_micro <= kUsageMax,
                 "amounts are not below 0");
  }
  return Divider(division, contenders).run();
}

}  // namespace moulin
