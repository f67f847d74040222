// Is a data folder the one that was begun, or a copy of it?
#pragma once

#include <string>

#include "base/result.h"
#include "engine/local/installation.h"
#include "server/data_folder.h"

namespace moulin {

// What whoever starts a server says about the folder.
enum class FolderOrigin {
  kBegunHere,  // a copy is refused
  kCopy,       // a copy may be gone on with: history stays, processes of the original are not ours
};

// Reads or makes the file `installation` of the folder, whose lock we hold. It names the
// folder by device and inode, which a copy does not share. After a restart of the machine
// nothing can be claimed wrongly, so the folder may then stand anywhere: it is only given
// a new id. kConflict: a copy in the same life of the machine, and `origin` does not say so.
Result<Installation> identify(const DataFolder& folder, const std::string& boot_id, FolderOrigin origin);

}  // namespace moulin
