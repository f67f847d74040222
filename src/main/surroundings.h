// What this process was started with, read once, for everything below main.
#pragma once

#include "cli/surroundings.h"

namespace moulin {

Surroundings read_surroundings();

}  // namespace moulin
