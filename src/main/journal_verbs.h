// `moulin journal verify|stats`: questions to a journal that need no server.
#pragma once

namespace moulin {

// argv[0] is "journal". Exit status: 0 good, 1 damaged or not readable, 2 wrong call.
int journal_main(int argc, char** argv);

}  // namespace moulin
