// `moulin journal verify|stats`: questions to a journal that need no server.
#pragma once

#include "cli/call.h"

namespace moulin {

// A call of `journal verify` or `journal stats`. Exit status: 0 good, 1 damaged or not readable, 2 wrong call.
int journal_main(const Call& call);

}  // namespace moulin
