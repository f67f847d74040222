// What a server does before it answers anybody: its epoch, its nodes, and, the first
// time, an administrator.
#pragma once

#include <functional>
#include <string>

#include "boundary/clock.h"
#include "boundary/gpus.h"
#include "server/data_folder.h"
#include "server/reactor.h"
#include "server/secrets.h"

namespace moulin {

struct BootstrapFacts {
  std::string boot_id;
  std::string version;
  std::string starter_account;  // the first administrator runs as this; empty: as the server
};

// Gives a command as Moulin itself and waits until it is durable.
using Give = std::function<Result<Events>(CommandBody)>;

// Gives the commands one after the other.
Status bootstrap(Reactor& reactor, Clock& clock, IdMaker& ids, const GpuInventory& inventory,
                 const BootstrapFacts& facts, const DataFolder& folder, const Give& give);

// The Give of a reactor that has a thread. Not from that thread or the committer's.
Result<Events> give(Reactor& reactor, CommandBody body);

}  // namespace moulin
