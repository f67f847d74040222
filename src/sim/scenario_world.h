// What a scenario acts on and looks at: the simulation, and the names that its author uses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/reason.h"
#include "sim/simulation.h"

namespace moulin::scenario {

class World {
 public:
  Simulation simulation{Simulation::Settings{}};

  // Who gives the commands of this step; empty: Moulin itself.
  UserName actor{};

  // What the core answered to the last command of this step.
  std::optional<Error> refusal{};

  // What the last dry run said.
  std::optional<Explanation> dry_run{};

  // Events before this one were looked at already by an `events` expectation.
  size_t looked_until = 0;

  // Gives a command and keeps the answer in `refusal`.
  void give(CommandBody body);
  // The same as Moulin itself, for facts.
  void give_as_system(CommandBody body);

  // The newest workload of that name, or of "project/name". kInvalid: there never was one.
  Result<WorkloadId> find(std::string_view name, std::string_view path) const;
  // The name under which the author knows it; its id when there is none.
  std::string name_of(WorkloadId id) const;

  // The last few events as a person reads them, one a line.
  std::string recent_events(size_t count_max) const;
};

// "attempt_started train": the word of an event and the workload or thing it is about.
std::string event_line(const World& world, const Event& event);

}  // namespace moulin::scenario
