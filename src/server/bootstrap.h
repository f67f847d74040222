// What a server does before it answers anybody: its epoch, its nodes, and, the first
// time, an administrator.
#pragma once

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

// Gives the commands one after the other and waits for each to be durable.
Status bootstrap(Reactor& reactor, Clock& clock, IdMaker& ids, const GpuInventory& inventory,
                 const BootstrapFacts& facts, const DataFolder& folder);

// Gives a command as Moulin itself and waits for the answer. Not from the reactor's or
// the committer's thread.
Result<Events> give(Reactor& reactor, CommandBody body);

}  // namespace moulin
