// moulin backup and moulin restore.
#include <fmt/format.h>

#include <filesystem>

#include "cli/units.h"
#include "main/local_verbs.h"
#include "main/version.h"
#include "server/backup.h"

namespace moulin {

namespace {

constexpr Duration kSecond = seconds(1);

std::string absolute_path(const std::string& word) {
  std::string path = std::filesystem::absolute(word).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Json to_json(const BackupReport& report, const std::string& folder) {
  return Json::object({{"folder", folder},
                       {"records", report.last.value},
                       {"files", report.files},
                       {"bytes", report.bytes.count},
                       {"version", report.version},
                       {"made_at", report.made_at}});
}

}  // namespace

Result<int> run_backup(const Call& call, Console& console) {
  std::string folder = absolute_path(call.words.front());
  BackupReport report = TRY(make_backup({.data_folder = data_folder_of(call),
                                         .backup = folder,
                                         .logs = call.has("logs") ? BackupLogs::kInclude : BackupLogs::kLeaveOut,
                                         .version = kVersion,
                                         .made_at = console.view().now.us / kSecond.us}));
  if (console.is_json()) {
    console.print_json(to_json(report, folder));
  } else {
    console.print(fmt::format("{} records and {} files, {}, are in {}\n", report.last.value, report.files,
                              to_text(report.bytes), folder));
    console.note("Keep it as safe as the data folder. `moulin restore` brings it back.");
  }
  return 0;
}

Result<int> run_restore(const Call& call, Console& console) {
  std::string folder = data_folder_of(call);
  BackupReport report = TRY(restore_backup({.backup = absolute_path(call.words.front()), .data_folder = folder}));
  if (console.is_json()) {
    console.print_json(to_json(report, folder));
  } else {
    console.print(fmt::format("{} has everything up to record {}, as of {}\n", folder, report.last.value,
                              clock_text(WallTime{report.made_at * kSecond.us}, console.view())));
    console.note("`moulin up` serves it, and puts a new administrator's token into it.");
  }
  return 0;
}

}  // namespace moulin
