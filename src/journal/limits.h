// What every journal refuses before it writes.
#pragma once

#include <vector>

#include "boundary/journal.h"

namespace moulin {

// kTooLarge when a record is above kRecordBytesMax.
Status check_sizes(const std::vector<JournalRecord>& records);

}  // namespace moulin
