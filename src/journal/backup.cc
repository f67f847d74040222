#include "journal/backup.h"

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

Status check_whole(const std::string& backup) {
  const Result<VerifyReport> report = verify_journal(backup);
  if (report && report->good()) return {};
  if (!report && report.error().code != Code::kInternal) return report.error();
  return Error{.code = Code::kRefused,
               .message = fmt::format("the backup {} is damaged: {}", backup,
                                      report ? report->problems.front() : report.error().message),
               .to_do = "restore an older backup"};
}

}  // namespace

Status backup_journal(const JournalAndBackup& paths) {
  if (exists(paths.backup)) {
    return Error{.code = Code::kConflict,
                 .message = fmt::format("{} exists already", paths.backup),
                 .to_do = "give a name that is free"};
  }
  return copy_database({.from = {.path = paths.journal, .access = sqlite::Access::kReadOnly}, .to = paths.backup});
}

Status restore_journal(const JournalAndBackup& paths) {
  TRY(check_free(paths.journal));
  TRY(check_whole(paths.backup));
  return copy_database({.from = {.path = paths.backup, .access = sqlite::Access::kReadOnly}, .to = paths.journal});
}

}  // namespace moulin
