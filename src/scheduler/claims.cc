#include "scheduler/claims.h"

namespace moulin {

const Claim* claim_of(const State& state, WorkloadId owner) {
  const Cow<Claim>* found = owner ? state.claims.find(owner) : nullptr;
  return found ? &**found : nullptr;
}

void remove_claim(Overlay& overlay, const Applicant& applicant) {
  const Claim* claim = claim_of(overlay.state(), applicant.id);
  if (claim == nullptr) return;
  for (const ReplicaPlacement& place : claim->places) {
    overlay.remove(applicant.account(Hold::kClaimed), place.placement);
  }
}

}  // namespace moulin
