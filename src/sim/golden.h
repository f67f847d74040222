// Golden journals: what a release wrote, to be read for ever. Each is two text files:
//
//   NAME.journal   a line for each event: instant in microseconds, type, bytes in hex
//   NAME.state     the encoded State that these events fold to, in hex
//
// tests/golden holds one pair for each release. They are never changed; a new release
// adds a pair (scenario_runner --write-golden).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace moulin {

struct GoldenFiles {
  std::string journal{};
  std::string state{};
};

// A long random run in which every type of event occurs. Deterministic: the same version
// always makes the same files.
GoldenFiles make_golden();

// Folds the journal and compares with the state: byte for byte, after the state went
// through today's codec, which gives new fields their defaults. kInternal: what is wrong.
Status check_golden(const GoldenFiles& files);

// The words of the types of events that do not occur in a journal.
std::vector<std::string> missing_types(const std::vector<Event>& journal);

}  // namespace moulin
