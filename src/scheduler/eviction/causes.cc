#include "scheduler/eviction/causes.h"

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

const GuaranteeLine& GuaranteeLines::of(const TreeName& project) {
  auto found = lines_.find(project);
  if (found != lines_.end()) return found->second;
  return lines_.emplace(project, GuaranteeLine(overlay_, path_to_root(overlay_.state(), project), departures_))
      .first->second;
}

Judgement judge_eviction(const Applicant& applicant, const Workload& victim, GuaranteeLines& lines,
                         const Departures& gone, Instant now) {
  Judgement by_class = judge_higher_class(applicant, victim, lines, gone);
  return by_class.protection == Protection::kRank ? judge_higher_priority(applicant, victim, now) : by_class;
}

bool may_outrank_anybody(const Index& index, const WorkloadSpec& spec) {
  return any_lower_class(index, spec.priority_class) || any_lower_priority(index, spec);
}

std::vector<Unit> admissible_units(const Overlay& overlay, const Applicant& applicant, const Departures& departures,
                                   GuaranteeLines& lines) {
  std::vector<Unit> units;
  if (!may_outrank_anybody(overlay.index(), applicant.spec)) return units;
  Class ours = applicant.spec.priority_class;
  for (const auto& [project, live] : overlay.index().live()) {
    bool own = project == applicant.spec.project;
    // Nobody of our class or above is a victim, but for our own project's lower priorities.
    Class first = own || ours == Class::kBatch ? ours : static_cast<Class>(static_cast<int>(ours) + 1);
    for (auto at = live->lower_bound({.priority_class = first, .lowness = INT64_MIN}); at != live->end(); ++at) {
      const Workload& victim = *overlay.state().workload(at->first.id);
      if (victim.state == WorkloadState::kStopping || victim.id == applicant.id) continue;
      std::vector<Unit> found = units_of(victim, Cause::kNone, departures, overlay.now());
      if (found.empty()) continue;
      Judgement judgement = judge_eviction(applicant, victim, lines, {}, overlay.now());
      if (judgement.protection != Protection::kNone) continue;
      for (Unit& unit : found) {
        unit.cause = judgement.cause;
        units.push_back(std::move(unit));
      }
    }
  }
  return units;
}

}  // namespace moulin
