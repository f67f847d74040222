#include "journal/database_copy.h"

#include "journal/durable_file.h"

namespace moulin {

Status copy_database(const DatabaseCopy& copy) {
  const std::string fresh = copy.to + ".new";
  remove_file(fresh);
  const auto write = [&]() -> Status {
    TRY(make_private_file(fresh));
    sqlite::Connection source = TRY(sqlite::Connection::open(copy.from));
    sqlite::Statement vacuum = TRY(source.prepare("VACUUM INTO CAST(? AS TEXT)"));
    TRY(vacuum.run(fresh));
    return publish_file(fresh, copy.to);
  };
  Status written = write();
  if (!written) remove_file(fresh);
  return written;
}

}  // namespace moulin
