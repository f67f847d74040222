// Ids, tokens and secrets of a simulation: random to look at, the same for the same seed.
#pragma once

#include <cstdint>

namespace moulin::sim {

// From now on libsodium's random bytes in this process come from the seed. Never in a
// program that serves anybody.
void predictable_randomness(uint64_t seed);

}  // namespace moulin::sim
