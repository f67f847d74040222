// A small cluster to which everything happens that can: commands of users, reports that
// come twice, late or never, nodes and devices that fail, quotas that change, restarts.
// A seed decides, so that a failure can be seen again.
//
// Every command goes through Simulation, which checks what must hold (invariants.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/simulation.h"

namespace moulin {

struct RandomRun {
  uint64_t seed = 1;
  int64_t events = 1'000;  // stops when the journal has at least so many
  EngineFaults faults{.doubled = 30, .late = 50, .lost = 20};
  Rebuilds rebuilds = Rebuilds::kEveryPass;
  PassBudget budget{};
};

struct RandomResult {
  std::string violation{};                  // empty: all went well; else with the seed and the last events
  uint64_t state_hash = 0;                  // of the encoded final state
  std::map<std::string, int64_t> counts{};  // events by their word
  std::vector<Event> journal{};
  State state{};
};

RandomResult run_random(const RandomRun& run);

// FNV-1a, 64 bits: to compare states, not to protect them.
uint64_t hash_of(std::string_view bytes);

}  // namespace moulin
