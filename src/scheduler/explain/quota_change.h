// The one limit or guarantee of the quota tree that would have to be raised.
#pragma once

#include <optional>

#include "scheduler/explain/inquiry.h"

namespace moulin {

// Project first, then its ancestors; at each level limits before guarantees. The smallest
// amount with which the applicant starts now. Absent: no single one is enough.
std::optional<Change> find_quota_change(const Inquiry& inquiry);

}  // namespace moulin
