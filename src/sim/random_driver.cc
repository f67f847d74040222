#include "sim/random_driver.h"

#include <fmt/format.h>

#include "base/codec.h"
#include "sim/random_actions.h"

namespace moulin {

namespace {

// More actions without an event than this mean that the driver is stuck.
constexpr int64_t kIdleActionsMax = 10'000;

std::string describe(const RandomRun& run, const Simulation& simulation, std::string_view action) {
  const std::vector<Event>& journal = simulation.journal();
  std::string text = fmt::format("seed {}, event {}, after the action {}: {}\n", run.seed, journal.size(), action,
                                 simulation.violation());
  for (size_t i = journal.size() > 30 ? journal.size() - 30 : 0; i < journal.size(); ++i) {
    WorkloadId id = event_workload(journal[i].body);
    text += fmt::format("  {} us  {} {}\n", journal[i].at.us, event_word(journal[i].body), id ? to_text(id) : "");
  }
  return text;
}

}  // namespace

RandomResult run_random(const RandomRun& run) {
  RandomCluster cluster({.seed = run.seed, .rebuilds = run.rebuilds, .budget = run.budget});
  Simulation& simulation = cluster.simulation;
  simulation.engine().set_faults(run.faults);
  std::string_view action = "set-up";
  int64_t idle = 0;
  while (simulation.violation().empty() && std::ssize(simulation.journal()) < run.events && idle < kIdleActionsMax) {
    size_t before = simulation.journal().size();
    action = act(cluster);
    simulation.settle();
    idle = simulation.journal().size() == before ? idle + 1 : 0;
  }
  RandomResult result{.journal = simulation.journal(), .state = simulation.state()};
  for (const Event& event : result.journal) ++result.counts[std::string(event_word(event.body))];
  result.state_hash = hash_of(encode(result.state));
  if (idle == kIdleActionsMax) result.violation = fmt::format("seed {}: nothing happens any more", run.seed);
  if (!simulation.violation().empty()) result.violation = describe(run, simulation, action);
  return result;
}

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace moulin
