// A consistent copy of a SQLite file, for backup and restoration.
#pragma once

#include <string>

#include "base/result.h"
#include "journal/sqlite.h"

namespace moulin {

struct DatabaseCopy {
  sqlite::Location from;  // may be in use; the copy is of what is committed now
  std::string to;         // readable by its owner only; replaced if it is there
};

// Writes aside, fsyncs and renames: a crash leaves the whole copy or none.
Status copy_database(const DatabaseCopy& copy);

}  // namespace moulin
