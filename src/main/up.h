// `moulin up`: serves one machine in the foreground.
#pragma once

#include "cli/call.h"

namespace moulin {

// A call of the verb `up` of the table. Exit status: 0 stopped in good order, 1 could not serve, 2 wrong call.
int up_main(const Call& call);

}  // namespace moulin
