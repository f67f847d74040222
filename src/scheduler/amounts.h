// What the nodes of the quota tree hold, by pool, resource and GPU model.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/grant.h"
#include "model/quota.h"
#include "model/workload_spec.h"

namespace moulin {

// How an occupant stands to what it occupies.
enum class Hold {
  kHeld,     // a replica that stays
  kLeaving,  // a replica that was asked to end, and still holds
  kClaimed,  // kept free for the owner of a claim; its victims may still hold it
};

// Amounts of one quota key, in the unit of its resource. Never negative.
struct Amount {
  int64_t held = 0;        // by replicas, leaving ones too
  int64_t after = 0;       // held once the leaving have left and the claims have started
  int64_t production = 0;  // held or claimed by production workloads
  // The most that is held from now until the leaving have left.
  int64_t most() const { return held > after ? held : after; }
  bool is_zero() const { return held == 0 && after == 0 && production == 0; }
  bool operator==(const Amount&) const = default;
};

// One addition to an Amount.
struct Holding {
  QuotaKey key;
  int64_t amount = 0;
  bool operator==(const Holding&) const = default;
};

// The amounts of one tree node. Keys without anything are absent, so that two ways to
// the same amounts compare equal.
class Amounts {
 public:
  // Zero when nothing is held.
  Amount of(const QuotaKey& key) const;

  enum class Sign : int { kAdd = 1, kSubtract = -1 };
  void change(Sign sign, const Holding& holding, Hold hold, Class priority_class);

  bool empty() const { return entries_.empty(); }
  const std::vector<std::pair<QuotaKey, Amount>>& entries() const { return entries_; }
  bool operator==(const Amounts&) const = default;

 private:
  std::vector<std::pair<QuotaKey, Amount>> entries_;  // by key; a handful
};

}  // namespace moulin
