// Claims inside an overlay. A claim is placed like a replica, as kClaimed: where its
// victims still hold, the room is below 0 until they leave, so nobody else gets it.
#pragma once

#include "scheduler/applicant.h"
#include "scheduler/overlay.h"

namespace moulin {

// How long a claim lasts beyond the largest grace of its victims.
inline constexpr Duration kClaimSpare = minutes(2);

// The claim that the state holds for the applicant; nullptr: none.
const Claim* claim_of(const State& state, WorkloadId owner);

// Lets go of the applicant's own claim, if it has one. Undone by rollback.
void remove_claim(Overlay& overlay, const Applicant& applicant);

}  // namespace moulin
