// A disk for tests and simulations: passes everything on to the real one until it is told to fail,
// and knows what a loss of power would leave.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/rng.h"

struct sqlite3_file;
struct sqlite3_vfs;

namespace moulin::testing {

enum class DiskFault {
  kFull,      // writes fail with ENOSPC; part of the first may be written
  kBroken,    // writes fail with EIO
  kReadOnly,  // writes fail with EROFS
  kNoSync,    // fsync fails with EIO
  kPowerOff,  // everything that changes fails; what was not fsynced is lost
};

// A SQLite VFS with a name of its own. Thread-safe. Outlives the connections that use it.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;

  const std::string& vfs() const { return name_; }

  // Lets `after` operations (writes, truncations, fsyncs) pass, then every further one
  // fails, until mend().
  struct Plan {
    DiskFault fault;
    int64_t after = 0;
  };
  void fail(const Plan& plan);
  void mend();
  int64_t operations() const;  // since construction, failed ones too

  // The files of `folder` are on it, synced. Before anybody uses them.
  void load(const std::string& folder);

  // Writes to `folder` what the disk holds after the loss of power: for each file what
  // was fsynced, and of each later write, by chance, all, none or its first sectors
  // (sometimes all of all: then nothing was lost).
  void restore(const std::string& folder, Rng& rng) const;

 private:
  friend struct FaultyFile;
  struct Change {
    int64_t offset = 0;
    std::string bytes;
    int64_t truncate_to = -1;  // -1: a write
  };
  struct Content {
    std::string synced;
    std::vector<Change> changes;
  };

  enum class Operation { kChange, kSync };
  // The errno that an operation fails with now, or 0.
  int take(Operation operation);
  void record(const std::string& path, Change change);
  void synced(const std::string& path);
  void removed(const std::string& path);

  std::string name_;
  sqlite3_vfs* vfs_ = nullptr;
  mutable std::mutex mutex_;
  bool failing_ = false;
  Plan plan_{.fault = DiskFault::kFull};
  int64_t operations_ = 0;
  int last_errno_ = 0;
  std::map<std::string, Content> files_;
};

}  // namespace moulin::testing
