// Random numbers from a seed, the same on every machine. For simulation and tests; keys
// and tokens come from libsodium.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace moulin {

// SplitMix64 (Steele, Lea, Flood 2014): full period 2^64, passes BigCrush.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound). The bias is below bound / 2^64.
  int64_t below(int64_t bound) {
    MOULIN_CHECK(bound > 0);
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }
  // Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  // True in `per_thousand` of 1000 cases.
  bool chance(int64_t per_thousand) { return below(1000) < per_thousand; }

 private:
  uint64_t state_;
};

}  // namespace moulin
