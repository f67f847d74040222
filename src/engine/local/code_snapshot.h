// Content-addressed copies of code folders, for `code: snapshot`.
//
//   <snapshots>/objects/ab/cdef...   contents of files by their BLAKE2b hash, stored once
//   <snapshots>/manifests/<id>       what is in a snapshot; the id is the hash of this
//   <snapshots>/<id>/                a snapshot made into files again, read-only
//
// Equal folders give equal ids: names, contents, links and the executable bit count, the
// times and owners of files do not.
#pragma once

#include <string>

#include "base/result.h"
#include "base/share.h"

namespace moulin {

struct SnapshotId {
  std::string text;  // 64 hexadecimal digits
  bool operator==(const SnapshotId&) const = default;
};
// kInvalid when it is not 64 lower-case hexadecimal digits.
Result<SnapshotId> parse_snapshot_id(std::string_view text);

struct SnapshotLimits {
  int64_t entries = 20'000;   // files, links and folders
  Bytes bytes = gibibytes(1);  // of all files
};

struct StoredSnapshot {
  SnapshotId id{};
  int64_t entries = 0;
  Bytes bytes{};
  int64_t passed_over = 0;  // sockets, pipes and devices, which cannot be copied
};

// Copies what of `folder` no .gitignore leaves out (ignore_rules.h), and is durable when it
// returns. Links are kept as links. Blocks for as long as it takes to read the folder.
// Thread-safe, also over processes; the parent of `snapshots` must exist.
// kRefused above a limit, with what to do; kNotFound: no such folder; kUnavailable: the
// disk cannot.
Result<StoredSnapshot> store_snapshot(const std::string& folder, const std::string& snapshots,
                                      const SnapshotLimits& limits = {});

// The path of the snapshot's tree, made when it is not there yet: folders 0555, files 0444
// or 0555. kNotFound: no such snapshot. kInternal: stored contents are damaged.
Result<std::string> materialise_snapshot(const SnapshotId& id, const std::string& snapshots);

}  // namespace moulin
