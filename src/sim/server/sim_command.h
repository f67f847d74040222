// `moulin-sim`: runs the simulation of the whole server, and makes what fails small.
#pragma once

#include <string>
#include <vector>

namespace moulin::sim {

// Arguments without the program's name. Exit code: 0 all went well, 1 something was wrong
// (it was printed), 2 wrong arguments.
int run_command(const std::vector<std::string>& arguments);

}  // namespace moulin::sim
