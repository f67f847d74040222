// `moulin up`: serves one machine in the foreground.
#pragma once

namespace moulin {

// argv[0] is "up". Exit status: 0 stopped in good order, 1 could not serve, 2 wrong call.
int up_main(int argc, char** argv);

}  // namespace moulin
