#include "main/journal_verbs.h"

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "cli/access.h"
#include "cli/terminal.h"
#include "journal/verify.h"
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

void print(const VerifyReport& report) {
  std::printf("%lld records, the last is %lld, %s, written by Moulin %s\n", static_cast<long long>(report.records),
              static_cast<long long>(report.last.value), to_text(report.payload).c_str(), report.written_by.c_str());
  for (const SnapshotFinding& finding : report.snapshots) {
    std::printf("snapshot %lld: %s\n", static_cast<long long>(finding.sequence.value),
                finding.problem.empty() ? "good" : finding.problem.c_str());
  }
  for (const std::string& problem : report.problems) std::printf("PROBLEM: %s\n", problem.c_str());
  std::printf(report.good() ? "The journal is whole.\n"
                            : "The journal is damaged: keep a copy and restore a backup.\n");
}

Result<int> verify(const Call& call, const std::string& path) {
  VerifyReport report = TRY(verify_journal(path));
  if (call.form == Form::kJson)
    std::printf("%s\n", write_json(to_json(report)).c_str());
  else
    print(report);
  return report.good() ? 0 : 1;
}

// All files of the journal: they begin with its name.
int64_t bytes_on_disk(const std::string& path) {
  int64_t bytes = 0;
  std::error_code error;
  std::filesystem::path file(path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(file.parent_path(), error)) {
    bool ours = entry.path().string().starts_with(path);
    if (ours && entry.is_regular_file(error)) bytes += static_cast<int64_t>(entry.file_size(error));
  }
  return bytes;
}

Result<int> stats(const Call& call, const std::string& path) {
  VerifyReport report = TRY(verify_journal(path));
  Json kinds{JsonObject{}};
  for (const auto& [type, count] : report.by_type) kinds.set(event_word(type), count);
  Json snapshots{JsonArray{}};
  for (const SnapshotFinding& finding : report.snapshots) snapshots.push(finding.sequence.value);
  Bytes on_disk{bytes_on_disk(path)};
  Json whole = Json::object({{"records", report.records},
                             {"last", report.last.value},
                             {"payload_bytes", report.payload.count},
                             {"on_disk_bytes", on_disk.count},
                             {"snapshots", snapshots},
                             {"by_kind", kinds}});
  if (call.form == Form::kJson) {
    std::printf("%s\n", write_json(whole).c_str());
    return 0;
  }
  std::printf("%lld records, %s of events, %s on disk, %zu snapshots\n", static_cast<long long>(report.records),
              to_text(report.payload).c_str(), to_text(on_disk).c_str(), report.snapshots.size());
  for (const JsonMember& member : kinds.members()) {
    std::printf("%10s  %s\n", member.second.number().c_str(), member.first.c_str());
  }
  return 0;
}

}  // namespace

int journal_main(const Call& call) {
  const std::string* data = call.value("data");
  std::string path = (data != nullptr ? *data : default_data_folder(process_surroundings())) + "/journal.db";
  Result<int> status = call.verb->name == "journal verify" ? verify(call, path) : stats(call, path);
  if (status) return *status;
  Console console(process_console(), call.form);
  console.print_error(status.error());
  return status.error().code == Code::kInvalid ? 2 : 1;
}

}  // namespace moulin
