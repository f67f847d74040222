// A run of the whole server: one seed decides everything that happens in it.
//
// Real: reactor, committer, decide and apply, scheduler, recovery, housekeeping, handlers
// with authentication, and the journal. Virtual: time, disk, engine and processes, devices,
// and the users. Whoever could run does so in an order that the seed decides.
#pragma once

#include "sim/server/users.h"

namespace moulin::sim {

struct RunOptions {
  uint64_t seed = 1;
  int64_t events = 20'000;  // the run ends when the journal has so many
  std::vector<Fault> faults = Faults::all();
  int64_t users = 4;  // ordinary ones; 1 to 100
  DiskKind disk = DiskKind::kMemory;
  Depth depth{};
};

struct RunResult {
  std::optional<Wrong> wrong{};
  int64_t events = 0;  // that were durable
  int64_t requests = 0;
  int64_t lives = 0;                        // of the server
  int64_t followed = 0;                     // events that reached somebody who follows them
  uint64_t hash = 0;                        // of all events, in order
  std::map<std::string, int64_t> counts{};  // events by word
  std::vector<std::string> tail{};          // what happened last
};

// Deterministic but for the names of temporary folders. One at a time in a process: the
// dice of ids and tokens are the process's.
RunResult run_server(const RunOptions& options);

}  // namespace moulin::sim
