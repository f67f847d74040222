#include "sim/server/settled.h"

#include <fmt/format.h>

#include "sim/server/watcher_parts.h"
#include "sim/usage_counter.h"

namespace moulin::sim {

namespace {

std::string name_of(const ReplicaKey& key) {
  return fmt::format("replica {} of attempt {} of {}", key.replica.value, key.attempt.value, to_text(key.workload));
}

void check_processes(const State& state, Site& site) {
  std::map<ReplicaKey, std::string> believed;
  each_holder(state, [&](const Workload& workload, const Attempt& attempt, const Replica& replica) {
    believed[{workload.id, attempt.number, replica.index}] = attempt.token;
  });
  for (const auto& [key, process] : site.machine.processes()) {
    auto found = believed.find(key);
    bool is_ours = found != believed.end() && found->second == process.launch.token;
    if (!is_ours && !process.exited) site.watcher.complain("orphan", name_of(key) + " runs and nobody knows it");
    if (is_ours && process.exited) site.watcher.complain("lost_end", name_of(key) + " has ended and nobody noticed");
    if (!is_ours && process.exited) site.watcher.complain("leftover", name_of(key) + " was never released");
    if (is_ours) believed.erase(found);
  }
  for (const auto& [key, token] : believed)
    site.watcher.complain("phantom", name_of(key) + " is believed to run and does not");
}

void check_hardware(const State& state, Site& site) {
  for (const Node& node : site.hardware.nodes()) {
    const Node* known = state.node(node.name);
    if (known == nullptr) return site.watcher.complain("hardware", node.name.text + " is not known");
    if (known->presence != Presence::kUp) return site.watcher.complain("hardware", node.name.text + " is down");
    for (const Gpu& gpu : known->gpus) {
      const Gpu* real = site.hardware.find(gpu.uuid);
      if (real == nullptr || real->health != gpu.health || real->foreign_processes != gpu.foreign_processes)
        return site.watcher.complain(
            "hardware", fmt::format("{} is {}, and is believed to be {}", gpu.uuid.text,
                                    real == nullptr ? "gone" : to_text(real->health), to_text(gpu.health)));
    }
  }
}

}  // namespace

void check_settled(Life& life, Site& site, const Users& users) {
  for (const std::string& line : users.unanswered()) site.watcher.complain("answers", line + " was not answered");
  if (!life.reactor().stats().writable) site.watcher.complain("writable", "the disk is well and commands are refused");
  PublishedView view = life.reactor().view();
  if (view->state.sequence.value != site.watcher.events())
    site.watcher.complain("publication", "readers do not see the newest event");
  check_processes(view->state, site);
  check_hardware(view->state, site);
  if (Violation violation = check_capacity(*view)) site.watcher.complain("capacity", *violation);
  Plan plan = make_plan(view->view(view->state.now), PassBudget{});
  if (!plan.starts.empty()) site.watcher.complain("work_conserved", "something waits that could start");
}

void check_empty(Life& life, Site& site) {
  PublishedView view = life.reactor().view();
  for (const auto& [id, workload] : view->state.workloads)
    if (!is_finished(workload->state)) return site.watcher.complain("end", to_text(id) + " does not end");
  if (!view->state.claims.empty()) return site.watcher.complain("end", "a claim is left");
  if (!site.machine.processes().empty()) return site.watcher.complain("end", "the engine still holds something");
  for (const auto& [name, node] : view->state.nodes) {
    const NodeRoom& room = *view->index.room().node(name);
    for (const DeviceRoom& device : room.devices)
      if (device.free != kWholeDevice)
        return site.watcher.complain("end", fmt::format("device {} of {} is not free", device.slot, name.text));
  }
}

}  // namespace moulin::sim
