#include "scheduler/grow.h"

#include <algorithm>

#include "scheduler/placement/place.h"

namespace moulin {

namespace {

struct Growth {
  const Workload* workload = nullptr;
  int64_t missing = 0;
  StartItem item{};
};

bool any_departs(const Workload& workload, const Departures& departures) {
  auto first = departures.lower_bound({workload.id, {}});
  return first != departures.end() && first->workload == workload.id;
}

std::vector<Growth> growths(const Overlay& overlay, const Departures& departures) {
  std::vector<Growth> below_minimum;
  std::vector<Growth> elastic;
  for (const auto& [hold, member] : overlay.index().growing()) {
    const Workload& workload = *overlay.state().workload(hold.id);
    if (workload.eligible_from > overlay.now() || any_departs(workload, departures)) continue;
    int64_t count = counted_replicas(workload);
    Growth growth{&workload, workload.spec.replicas.max - count, {.workload = hold.id, .surplus = true}};
    (count < workload.spec.replicas.min ? below_minimum : elastic).push_back(std::move(growth));
  }
  std::ranges::move(elastic, std::back_inserter(below_minimum));
  return below_minimum;
}

}  // namespace

std::vector<StartItem> plan_growth(Overlay& overlay, const Departures& departures, int64_t starts_max) {
  std::vector<Growth> all = growths(overlay, departures);
  int64_t added = 0;
  bool any = true;
  while (any && added < starts_max) {
    any = false;
    for (Growth& growth : all) {
      if (growth.missing == 0 || added >= starts_max) continue;
      const WorkloadSpec& spec = growth.workload->spec;
      Applicant applicant{spec, overlay.path(spec.project), growth.workload->id};
      std::optional<Placement> place = find_place(overlay, applicant, Hold::kHeld);
      if (!place) {
        growth.missing = 0;
        continue;
      }
      overlay.place(applicant.account(Hold::kHeld), *place);
      auto next = growth.workload->attempts.back().next_replica().value + std::ssize(growth.item.replicas);
      growth.item.replicas.push_back({{static_cast<int32_t>(next)}, *std::move(place)});
      --growth.missing;
      ++added;
      any = true;
    }
  }
  std::vector<StartItem> items;
  for (Growth& growth : all) {
    if (!growth.item.replicas.empty()) items.push_back(std::move(growth.item));
  }
  return items;
}

}  // namespace moulin
