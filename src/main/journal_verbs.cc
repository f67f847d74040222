// moulin journal verify and moulin journal stats.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/json.h"
#include "journal/verify.h"
#include "main/local_verbs.h"
#include "model/event.h"

namespace moulin {

namespace {

Json to_json(const VerifyReport& report) {
  Json problems{JsonArray{}};
  for (const std::string& problem : report.problems) problems.push(problem);
  Json snapshots{JsonArray{}};
  for (const SnapshotFinding& finding : report.snapshots) {
    snapshots.push(Json::object(
        {{"sequence", finding.sequence.value}, {"good", finding.problem.empty()}, {"problem", finding.problem}}));
  }
  return Json::object({{"good", report.good()},
                       {"records", report.records},
                       {"last", report.last.value},
                       {"payload_bytes", report.payload.count},
                       {"format", report.format},
                       {"written_by", report.written_by},
                       {"snapshots", snapshots},
                       {"problems", problems}});
}

std::string text_of(const VerifyReport& report) {
  std::string text = fmt::format("{} records, the last is {}, {}, written by Moulin {}\n", report.records,
                                 report.last.value, to_text(report.payload), report.written_by);
  for (const SnapshotFinding& finding : report.snapshots) {
    text +=
        fmt::format("snapshot {}: {}\n", finding.sequence.value, finding.problem.empty() ? "good" : finding.problem);
  }
  for (const std::string& problem : report.problems) text += fmt::format("PROBLEM: {}\n", problem);
  return text + (report.good() ? "The journal is whole.\n"
                               : "The journal is damaged: keep a copy, then `moulin restore` a backup.\n");
}

// All files of the journal: they begin with its name.
Bytes bytes_on_disk(const std::string& path) {
  int64_t bytes = 0;
  std::error_code error;
  std::filesystem::path file(path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(file.parent_path(), error)) {
    bool ours = entry.path().string().starts_with(path);
    if (ours && entry.is_regular_file(error)) bytes += static_cast<int64_t>(entry.file_size(error));
  }
  return {bytes};
}

}  // namespace

Result<int> run_journal_verify(const Call& call, Console& console) {
  VerifyReport report = TRY(verify_journal(data_folder_of(call) + "/journal.db"));
  if (console.is_json())
    console.print_json(to_json(report));
  else
    console.print(text_of(report));
  return report.good() ? 0 : 1;
}

Result<int> run_journal_stats(const Call& call, Console& console) {
  std::string path = data_folder_of(call) + "/journal.db";
  VerifyReport report = TRY(verify_journal(path));
  Bytes on_disk = bytes_on_disk(path);
  Json kinds{JsonObject{}};
  for (const auto& [type, count] : report.by_type) kinds.set(event_word(type), count);
  Json snapshots{JsonArray{}};
  for (const SnapshotFinding& finding : report.snapshots) snapshots.push(finding.sequence.value);
  if (console.is_json()) {
    console.print_json(Json::object({{"records", report.records},
                                     {"last", report.last.value},
                                     {"payload_bytes", report.payload.count},
                                     {"on_disk_bytes", on_disk.count},
                                     {"snapshots", snapshots},
                                     {"by_kind", kinds}}));
    return 0;
  }
  std::string text = fmt::format("{} records, {} of events, {} on disk, {} snapshots\n", report.records,
                                 to_text(report.payload), to_text(on_disk), report.snapshots.size());
  for (const JsonMember& member : kinds.members())
    text += fmt::format("{:>10}  {}\n", member.second.number(), member.first);
  console.print(text);
  return 0;
}

}  // namespace moulin
