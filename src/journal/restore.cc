#include "journal/restore.h"

#include <fmt/format.h>

#include "journal/database_copy.h"
#include "journal/durable_file.h"
#include "journal/verify.h"

namespace moulin {
namespace {

// The mark and the snapshots of another history would not fit either.
Status check_free(const std::string& journal) {
  for (const char* suffix : {"", "-wal", "-shm", "-mark", "-snapshots"}) {
    if (!exists(journal + suffix)) continue;
    return Error{.code = Code::kConflict,
                 .message = fmt::format("{}{} is there already", journal, suffix),
                 .to_do = fmt::format("move {}* to another folder first", journal)};
  }
  return {};
}

}  // namespace

Status restore_journal(const Restoration& restoration) {
  TRY(check_free(restoration.journal));
  const VerifyReport report = TRY(verify_journal(restoration.backup));
  if (!report.good()) {
    return Error{.code = Code::kRefused,
                 .message = fmt::format("the backup {} is damaged: {}", restoration.backup, report.problems.front()),
                 .to_do = "restore an older backup"};
  }
  return copy_database({.from = {.path = restoration.backup, .access = sqlite::Access::kReadOnly},
                        .to = restoration.journal});
}

}  // namespace moulin
