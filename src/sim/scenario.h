// Scenarios: YAML files that say in order what happens to a small cluster and what must
// be true of it. They are for people who know no C++; docs/scenarios.md teaches them.
//
// A run is deterministic and takes a few milliseconds. After each event everything in
// invariants.h is checked too.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace moulin {

// A scenario file is at most this long, and has at most so many steps.
inline constexpr size_t kScenarioBytesMax = 256 << 10;
inline constexpr size_t kScenarioStepsMax = 500;

struct ScenarioResult {
  bool passed = false;
  // Empty when passed; else several lines: file, line and step, what was expected, what
  // came instead, and the events that led to it.
  std::string report{};
};

// `name` is only for the report. `text` is the YAML.
ScenarioResult run_scenario(std::string_view name, std::string_view text);

}  // namespace moulin
