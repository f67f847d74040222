// Backup and restoration of the journal: one file, without marks and snapshots.
#pragma once

#include <string>

#include "base/result.h"

namespace moulin {

struct JournalAndBackup {
  std::string journal;  // its path in a data folder; the folder must exist
  std::string backup;   // path of the file
};

// A copy of all records durable now as one file that opens as a journal. Works beside a
// server that appends, and without one; takes some seconds for a million records. A crash
// leaves the whole backup or none. kConflict: `backup` is there already.
Status backup_journal(const JournalAndBackup& paths);

// Verifies the backup and copies it, so that a crash leaves the whole journal or none.
// No server may run on the folder. kConflict: something of a journal is there already;
// nothing is ever replaced. kRefused: the backup is damaged. Errors of verify_journal.
Status restore_journal(const JournalAndBackup& paths);

}  // namespace moulin
