// The command line: parsing, help, and every verb that talks to a server.
#pragma once

#include <span>

#include "cli/program.h"

namespace moulin::cli {

// Runs one call and gives the exit status; docs/cli.md lists them. To be called once,
// before any thread is started: it may block signals.
int cli_main(int argc, char** argv, std::span<const LocalVerb> local);

}  // namespace moulin::cli
