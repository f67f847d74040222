// Snapshots as files beside the journal: "<journal>-snapshots/snapshot-<sequence>.bin".
//
// A file says which journal it belongs to, after which record, and that record's chain,
// so a snapshot of another history (an older backup, a copied folder) never fits. It is
// written aside and renamed, so a crash leaves a whole file or none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "boundary/journal.h"
#include "journal/chain.h"

namespace moulin {

inline constexpr size_t kSnapshotsKept = 3;
inline constexpr Bytes kSnapshotBytesMax = gibibytes(2);

// A snapshot and where it belongs.
struct PlacedSnapshot {
  JournalNumber number;
  Chain chain;  // of the record `snapshot.sequence`
  Snapshot snapshot;
};

class SnapshotFiles {
 public:
  explicit SnapshotFiles(const std::string& journal_path) : folder_(journal_path + "-snapshots") {}

  // Sequences of the files there are, newest first, sound or not.
  Result<std::vector<Sequence>> list() const;

  // Makes it durable and removes all but the newest three. kTooLarge above
  // kSnapshotBytesMax; kUnavailable: the files are as before.
  Status save(const PlacedSnapshot& placed) const;

  // kInternal: a damaged file, or one that is not what its name says.
  Result<PlacedSnapshot> load(Sequence sequence) const;

  Status remove(Sequence sequence) const;
  Bytes on_disk() const;
  std::string path_of(Sequence sequence) const;

 private:
  std::string folder_;
};

}  // namespace moulin
