// `code: snapshot`: the folder as it is at submission, copied by content.
#pragma once

#include "model/command.h"
#include "server/handlers/world.h"

namespace moulin {

// Whether any of these wants its folder copied: then it takes as long as reading it.
bool wants_snapshot(const command::Submit& submit);

// Copies the folders and writes their content addresses into the specs; one copy for
// equal folders. kRefused: too large, or the server would read the folder with more
// rights than its user has. kNotFound: no such folder.
Status take_snapshots(const Call& call, command::Submit& submit);

}  // namespace moulin
