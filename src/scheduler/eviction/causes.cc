#include "scheduler/eviction/causes.h"

#include <algorithm>

#include "scheduler/eviction/guarantee_reclaim.h"
#include "scheduler/eviction/higher_class.h"
#include "scheduler/eviction/higher_priority.h"

namespace moulin {

namespace {

// Whether anybody lives in the same project and class with a lower priority.
bool any_lower_priority(const Index& index, const WorkloadSpec& spec) {
  const Cow<KeySet<HoldKey>>* live = index.live().find(spec.project);
  if (live == nullptr) return false;
  auto below = (*live)->lower_bound({.priority_class = spec.priority_class, .lowness = -spec.priority + 1});
  return below != (*live)->end() && below->first.priority_class == spec.priority_class;
}

bool any_lower_class(const Index& index, Class priority_class) {
  for (size_t i = static_cast<size_t>(priority_class) + 1; i < kWords<Class>.size(); ++i) {
    if (index.staying(static_cast<Class>(i)) > 0) return true;
  }
  return false;
}

}  // namespace

Judgement judge_eviction(const Applicant& applicant, const ReclaimRights& rights, const Candidate& victim,
                         Instant now) {
  Judgement judgement = judge_higher_class(applicant, victim);
  if (judgement.protection == Protection::kRank) judgement = judge_higher_priority(applicant, victim.workload, now);
  if (judgement.protection != Protection::kRank && judgement.protection != Protection::kGuarantee) return judgement;
  // A guarantee guards against classes more closely than against those who take back what is theirs.
  Judgement reclaim = judge_guarantee_reclaim(applicant, rights, victim, now);
  return judgement.protection == Protection::kRank || reclaim.cause != Cause::kNone ? reclaim : judgement;
}

bool may_outrank_anybody(const Index& index, const WorkloadSpec& spec) {
  return any_lower_class(index, spec.priority_class) || any_lower_priority(index, spec);
}

bool may_evict_anybody(const Index& index, const Applicant& applicant, const ReclaimRights& rights,
                       GuaranteeLines& lines) {
  if (may_outrank_anybody(index, applicant.spec)) return true;
  return std::ranges::any_of(rights.rivals(),
                             [&](const auto& rival) { return lines.may_any_be_above(rival.first, rival.second); });
}

}  // namespace moulin
