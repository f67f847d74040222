#include "sim/server/dice.h"

#include <sodium.h>

#include "base/rng.h"

namespace moulin::sim {

namespace {

// libsodium calls functions without an argument of ours, so what they use is the process's.
Rng& dice() {
  static Rng rng(0);
  return rng;
}

const char* name() { return "simulation"; }
uint32_t random() { return static_cast<uint32_t>(dice().next()); }
void fill(void* buffer, size_t size) {
  auto* bytes = static_cast<unsigned char*>(buffer);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(dice().next());
}

}  // namespace

void predictable_randomness(uint64_t seed) {
  static randombytes_implementation implementation{.implementation_name = name,
                                                   .random = random,
                                                   .stir = nullptr,
                                                   .uniform = nullptr,
                                                   .buf = fill,
                                                   .close = nullptr};
  randombytes_set_implementation(&implementation);
  MOULIN_CHECK(sodium_init() >= 0, "libsodium starts");  // it takes some bytes the first time
  dice() = Rng(seed);
}

}  // namespace moulin::sim
