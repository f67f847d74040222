// What the engine knows of one replica that it holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "boundary/engine.h"
#include "engine/local/leftovers.h"
#include "engine/local/shim_link.h"
#include "engine/local/usage_account.h"
#include "shim/fd.h"

namespace moulin {

// Lives on the engine's thread.
struct HeldShim {
  ReplicaKey key;
  std::string token;
  Fd folder;
  UsageAccount account;
  std::optional<ShimLink> link{};        // none while disconnected
  std::optional<Leftovers> leftovers{};  // the shim was killed; ending what it left
  std::optional<EndOrder> end_order{};   // the strongest so far; said again on each new link
  int failed_links = 0;                  // in a row, without a state
  Instant link_due{};                    // when to try for the next
  bool locked_out_told = false;
  ShimState state{};
  bool resumed = false;                  // the account has taken the note of the first state
  bool started_told = false;
  bool exit_told = false;
  int64_t checkpoints_told = 0;
  Duration usage_told{};                 // wall time of the last usage report
  Instant due{};                         // when to try again: connect, or end leftovers
};

}  // namespace moulin
