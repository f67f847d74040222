// The program with everything that it touches given to it, so that a test can run it.
#pragma once

#include <span>
#include <string_view>

#include "cli/call.h"
#include "cli/console.h"
#include "cli/surroundings.h"

namespace moulin::cli {

// What runs a verb that needs no server, and so not this folder. It gives the exit status.
struct LocalVerb {
  std::string_view name;
  Result<int> (*run)(const Call& call, Console& console);
};

// Runs one call (arguments without the program's name) and gives the exit status. `local`
// has every verb of the table that is not run here.
int run_program(std::span<const std::string_view> arguments, ConsoleParts parts, const Surroundings& surroundings,
                std::span<const LocalVerb> local);

}  // namespace moulin::cli
