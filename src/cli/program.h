// The program with everything that it touches given to it, so that a test can run it.
#pragma once

#include <span>
#include <string_view>

#include "cli/console.h"
#include "cli/surroundings.h"

namespace moulin {

// Runs one call (arguments without the program's name) and gives the exit status.
int run_program(std::span<const std::string_view> arguments, ConsoleParts parts, const Surroundings& surroundings);

}  // namespace moulin
