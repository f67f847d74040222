#include "server/handlers/digest.h"

#include "scheduler/order.h"

namespace moulin {

WorkloadCounts count_workloads(const Published& view) {
  WorkloadCounts counts;
  for (const auto& [id, workload] : view.state.workloads) {
    ++counts.states[workload->state];
    if (workload->state != WorkloadState::kWaiting) continue;
    ++(workload->waiting_for.empty() ? counts.not_looked_at : counts.reasons[workload->waiting_for.front()]);
  }
  return counts;
}

WaitingAmounts waiting_below(const Published& view) {
  WaitingAmounts waiting;
  for (const auto& [project, queue] : view.index.waiting()) {
    std::map<QuotaKey, int64_t> here;
    for (const auto& [key, present] : *queue) {
      for (const Holding& holding : asked(view.index.makes(), view.state.workload(key.id)->spec)) {
        here[holding.key] += holding.amount;
      }
    }
    for (const TreeNode* node : path_to_root(view.state, project)) {
      for (const auto& [key, amount] : here) waiting[{node->name, key}] += amount;
    }
  }
  return waiting;
}

}  // namespace moulin
