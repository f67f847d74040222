// Room that is kept for somebody else, or for this one.
#include <fmt/format.h>

#include "scheduler/claims.h"
#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"

namespace moulin {

namespace {

// Beyond this many, claims are only looked at together.
constexpr size_t kClaimsNamed = 16;

std::vector<const Claim*> claims_of_others(const Inquiry& inquiry) {
  std::vector<const Claim*> claims;
  for (const auto& [owner, claim] : inquiry.overlay.state().claims) {
    if (owner != inquiry.applicant.id && inquiry.overlay.claim_of(owner) != nullptr) claims.push_back(&*claim);
  }
  return claims;
}

bool would_start_without(const Inquiry& inquiry, const std::vector<const Claim*>& claims) {
  Overlay::Mark mark = inquiry.overlay.checkpoint();
  for (const Claim* claim : claims) inquiry.overlay.release_claim(claim->owner);
  bool starts = can_start(inquiry);
  inquiry.overlay.rollback(mark);
  return starts;
}

Reason claimed_by(const Inquiry& inquiry, const Claim& claim) {
  const Workload& owner = *inquiry.overlay.state().workload(claim.owner);
  Duration left = claim.expires - inquiry.overlay.now();
  return {.code = ReasonCode::kClaimedBy,
          .text = fmt::format("room for it on node {} is kept for {}, which others make way for: for at most {}",
                              claim.places.front().placement.node.text, workload_words(owner), wait_words(left)),
          .numbers = {{"expires_us", claim.expires.us}},
          .names = {{"workload", to_text(claim.owner)}, {"node", claim.places.front().placement.node.text}}};
}

}  // namespace

void explain_claims(const Inquiry& inquiry, Reasons& reasons) {
  std::vector<const Claim*> claims = claims_of_others(inquiry);
  if (claims.empty() || !would_start_without(inquiry, claims)) return;
  size_t before = reasons.size();
  for (size_t i = 0; i < std::min(claims.size(), kClaimsNamed); ++i) {
    if (would_start_without(inquiry, {claims[i]})) reasons.push_back(claimed_by(inquiry, *claims[i]));
  }
  if (reasons.size() > before) return;
  reasons.push_back({.code = ReasonCode::kClaimedBy,
                     .text = fmt::format("room for it is kept for {} that others make way for",
                                         count_words(std::ssize(claims), "workload")),
                     .numbers = {{"claims", std::ssize(claims)}}});
}

bool explain_own_claim(const Inquiry& inquiry, Reasons& reasons) {
  const Claim* claim = inquiry.claim;
  if (claim == nullptr) return false;
  std::string victims;
  for (WorkloadId id : claim->victims) {
    const Workload* victim = inquiry.overlay.state().workload(id);
    if (victim != nullptr && is_live(victim->state)) victims += (victims.empty() ? "" : ", ") + workload_words(*victim);
  }
  Duration left = claim->expires - kClaimSpare - inquiry.overlay.now();
  std::string_view place = inquiry.workload == nullptr ? "others would make way for it" : "its place is kept";
  reasons.push_back({.code = ReasonCode::kNoCapacity,
                     .text = fmt::format("{}; it starts when {} left, in {} at most", place,
                                         victims.empty() ? "what holds it has" : victims + " has", wait_words(left)),
                     .numbers = {{"victims", std::ssize(claim->victims)}, {"expires_us", claim->expires.us}},
                     .names = {{"victims", victims}}});
  return true;
}

}  // namespace moulin
