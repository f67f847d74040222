#include "scheduler/eviction/causes.h"

#include "scheduler/eviction/higher_class.h"
#include "scheduler/eviction/higher_priority.h"
#include "scheduler/limits.h"

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

const GuaranteeLine& GuaranteeLines::of(const TreeName& project) {
  auto found = lines_.find(project);
  if (found != lines_.end()) return found->second;
  return lines_.emplace(project, GuaranteeLine(overlay_, path_to_root(overlay_.state(), project), departures_))
      .first->second;
}

bool GuaranteeLines::is_above(const Workload& victim, const Departures& gone) {
  const TreeName& project = victim.spec.project;
  QuotaKey key = measured_in(overlay_, victim);
  auto [inside, is_new] = all_inside_.try_emplace({project, key}, false);
  if (is_new) {
    TreePath path = path_to_root(overlay_.state(), project);
    int64_t held = overlay_.index().room().amount(project, key).held;
    inside->second = held <= guaranteed(overlay_.state(), overlay_.index(), path, 0, key);
  }
  return !inside->second && of(project).is_above(victim.id, gone);
}

void GuaranteeLines::depart(const TreeName& project, const ReplicaRef& ref) {
  auto found = lines_.find(project);
  if (found != lines_.end()) found->second.depart(ref);
}

Judgement judge_eviction(const Applicant& applicant, const Workload& victim, const IsAbove& is_above_line,
                         Instant now) {
  Judgement by_class = judge_higher_class(applicant, victim, is_above_line);
  return by_class.protection == Protection::kRank ? judge_higher_priority(applicant, victim, now) : by_class;
}

bool may_outrank_anybody(const Index& index, const WorkloadSpec& spec) {
  return any_lower_class(index, spec.priority_class) || any_lower_priority(index, spec);
}

}  // namespace moulin
