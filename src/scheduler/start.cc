// Whether a planned start still holds when its turn comes.
#include <fmt/format.h>

#include "scheduler/claims.h"
#include "scheduler/limits.h"
#include "scheduler/overlay.h"

namespace moulin {

namespace {

Error no_longer(std::string message, std::string given) {
  return {.code = Code::kConflict, .message = std::move(message), .given = std::move(given)};
}

// One more replica, with those before it placed.
Status check_place(const Overlay& overlay, const Applicant& applicant, const Placement& placement) {
  const NodeRoom* node = overlay.room().node(placement.node);
  if (node == nullptr || !node->open) return no_longer("the node takes no work any more", placement.node.text);
  if (!overlay.room().is_free(placement)) return no_longer("the place is no longer free", placement.node.text);
  const Node& facts = *overlay.state().node(placement.node);
  ModelName model;
  for (const Grant& grant : placement.grants) {
    const Gpu& gpu = facts.gpus[static_cast<size_t>(grant.slot)];
    if (gpu.uuid != grant.gpu) return no_longer("the device was replaced", grant.gpu.text);
    model = gpu.model;
  }
  Headroom room = headroom(overlay, applicant, Hold::kHeld, node->pool, model);
  if (!room.holds(placement.gpu_total(), applicant.spec.resources))
    return no_longer("a limit or guarantee of the quota tree no longer leaves room", applicant.spec.project.text);
  return {};
}

}  // namespace

Status check_start(const View& view, const StartItem& item) {
  const Workload* workload = view.state.workload(item.workload);
  if (workload == nullptr) return no_longer("the workload has left", to_text(item.workload));
  auto count = std::ssize(item.replicas);
  if (!item.surplus && (count < workload->spec.replicas.min || count > workload->spec.replicas.max))
    return no_longer("not the number of replicas it asks for", fmt::format("{}", count));
  TreePath path = path_to_root(view.state, workload->spec.project);
  Applicant applicant{workload->spec, path, workload->id};
  Overlay overlay(view);
  overlay.release_claim(applicant.id);
  for (const ReplicaPlacement& replica : item.replicas) {
    TRY(check_place(overlay, applicant, replica.placement));
    overlay.place(applicant.account(Hold::kHeld), replica.placement);
  }
  return {};
}

}  // namespace moulin
