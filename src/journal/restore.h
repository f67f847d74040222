// Restoring: a backup becomes the journal of a data folder.
#pragma once

#include <string>

#include "base/result.h"

namespace moulin {

struct Restoration {
  std::string backup;   // made by SqliteJournal::backup_to
  std::string journal;  // path of the journal to be; its folder must exist
};

// Verifies the backup and copies it, so that a crash leaves the whole journal or none.
// No server may run on the folder. kConflict: something of a journal is there already;
// nothing is ever replaced. kRefused: the backup is damaged. Errors of verify_journal.
Status restore_journal(const Restoration& restoration);

}  // namespace moulin
