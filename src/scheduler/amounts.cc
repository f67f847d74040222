#include "scheduler/amounts.h"

#include <algorithm>

#include "base/check.h"

namespace moulin {

namespace {

auto position(auto& entries, const QuotaKey& key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const auto& entry, const QuotaKey& wanted) { return entry.first < wanted; });
}

}  // namespace

Amount Amounts::of(const QuotaKey& key) const {
  auto at = position(entries_, key);
  return at == entries_.end() || at->first != key ? Amount{} : at->second;
}

void Amounts::change(Sign sign, const Holding& holding, Hold hold, Class priority_class) {
  auto at = position(entries_, holding.key);
  if (at == entries_.end() || at->first != holding.key) at = entries_.insert(at, {holding.key, {}});
  Amount& amount = at->second;
  int64_t change = sign == Sign::kAdd ? holding.amount : -holding.amount;
  if (hold != Hold::kClaimed) amount.held += change;
  if (hold != Hold::kLeaving) amount.after += change;
  if (priority_class == Class::kProduction) amount.production += change;
  MOULIN_CHECK(amount.held >= 0 && amount.after >= 0 && amount.production >= 0, "less than nothing is held");
  if (amount.is_zero()) entries_.erase(at);
}

}  // namespace moulin
