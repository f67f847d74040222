// Backup and restoration of a data folder.
//
// A backup is a folder that only its owner can read:
//
//   backup.json   when and by which Moulin it was made, and what is in it
//   journal.db    all records that were durable when it was made, as one file
//   snapshots/    copies of code folders, for workloads that are to run from them
//   attempts/     log files, when asked for
//
// No tokens are in it, only their hashes: the first start on a restored folder makes a
// new token for the administrator. docs/backup.md tells a person how to use it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

enum class BackupLogs { kLeaveOut, kInclude };

struct BackupRequest {
  std::string data_folder;
  std::string backup;  // the folder to make; must not exist, its parent must
  BackupLogs logs = BackupLogs::kLeaveOut;
  std::string version{};  // of this Moulin
  int64_t made_at = 0;    // seconds since 1970
};

struct BackupReport {
  Sequence last{};        // newest record
  int64_t files = 0;      // beside the journal
  Bytes bytes{};          // of all files
  std::string version{};  // of the Moulin that made it
  int64_t made_at = 0;    // seconds since 1970
};

// Works beside a running server. Reads the copied journal back whole before it gives the
// backup its name: there is a good one afterwards, or none. kNotFound: no data folder
// there; kConflict: `backup` is there already; kRefused: the journal is damaged.
Result<BackupReport> make_backup(const BackupRequest& request);

struct RestoreRequest {
  std::string backup;
  std::string data_folder;  // must not exist or be empty; its parent must exist
};

// After it `data_folder` is a data folder with the same records to the byte, or is as it
// was. kNotFound: no backup there; kRefused: damaged, or of a newer Moulin; kConflict: the
// data folder is in use.
Result<BackupReport> restore_backup(const RestoreRequest& request);

}  // namespace moulin
