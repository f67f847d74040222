// Claims: capacity that leaving victims free for the workload they were evicted for.
//
// A claim is placed in the room like a replica, as Hold::kClaimed. Where its victims still
// hold, the free amounts are below 0 until they leave, so nobody else gets it. Its owner
// lets go of it (Overlay::release_claim) and looks for a place like everybody.
#pragma once

#include "base/instant.h"

namespace moulin {

// How long a claim lasts beyond the largest grace of its victims.
inline constexpr Duration kClaimSpare = minutes(2);

}  // namespace moulin
