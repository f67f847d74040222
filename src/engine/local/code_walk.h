// Walks the files of a code folder that belong into a snapshot.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "shim/fd.h"

namespace moulin {

struct WalkedEntry {
  const Fd& folder;         // the folder that holds it, open
  const std::string& name;  // in that folder
  const std::string& path;  // from the code folder, parts joined by '/'
  const struct stat& facts; // of the entry itself, links not followed
};

inline constexpr int kCodeDepthMax = 64;

// Calls `visit` for each file, link and folder that no .gitignore leaves out, folders
// before what is in them, names in order of bytes. No link is followed. An Error of
// `visit` ends the walk. Sockets, pipes and devices are visited too.
// kNotFound: no such folder. kRefused: deeper than kCodeDepthMax.
Status walk_code(const std::string& folder, const std::function<Status(const WalkedEntry&)>& visit);

}  // namespace moulin
