// From a journal to a state, and from a state to a snapshot.
#pragma once

#include "boundary/journal.h"
#include "core/core.h"

namespace moulin {

// Version of the encoding of State in snapshots. A newer one is skipped and the journal
// replayed from an older snapshot or the beginning.
inline constexpr int32_t kSnapshotFormat = 1;

// The newest good snapshot and every record after it. kInternal: a record is damaged or
// of a newer version.
Result<Core> recover_core(const Journal& journal);

Snapshot snapshot_of(const State& state);

}  // namespace moulin
