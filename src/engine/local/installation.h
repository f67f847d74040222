// Whose processes an engine may claim.
#pragma once

#include <string>

namespace moulin {

// A data folder and everything that was started from it carry the same id. A copy of the
// folder gets another, so that its server never takes the processes of the original for
// its own (docs/adr/0015-copies-of-a-data-folder.md).
struct Installation {
  std::string id{};             // empty: none is told apart, for tests of one engine
  bool claims_unmarked = true;  // also what was started before there were ids
};

}  // namespace moulin
