// The process that we are, as data: the only place of the command line that asks the
// operating system for clock, terminal, environment, files and signals.
#pragma once

#include "cli/console.h"
#include "cli/surroundings.h"

namespace moulin::cli {

// Colours only on a terminal, and never with NO_COLOR or TERM=dumb.
ConsoleParts process_console();
Surroundings process_surroundings();

}  // namespace moulin::cli
