#include "main/journal_verbs.h"

#include <getopt.h>

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

constexpr const char* kHelp =
    R"(moulin journal: look at the record of everything that happened, without a server

Usage: moulin journal verify [--data DIR] [--json]
       moulin journal stats  [--data DIR] [--json]

  verify  reads every record, checks the chain, the index and the snapshots
  stats   counts records by kind, and what they take

  --data DIR  the data folder (default: as `moulin up`)
  --json      one JSON object

Both work beside a running server. Exit status: 0 good, 1 damaged, 2 wrong call.
)";

struct Call {
  std::string verb;
  std::string data;
  bool json = false;
  bool help = false;
};

Result<Call> parse(int argc, char** argv) {
  static const option kLong[] = {{"data", required_argument, nullptr, 'd'},
                                 {"json", no_argument, nullptr, 'j'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  Call call;
  call.data = default_data_folder(process_surroundings());
  optind = 1;
  opterr = 0;
  Error usage{
      .code = Code::kInvalid, .message = "not a call of `moulin journal`", .to_do = "see `moulin journal --help`"};
  for (int letter = 0; (letter = getopt_long(argc, argv, "h", kLong, nullptr)) != -1;) {
    switch (letter) {
      case 'd': call.data = optarg; break;
      case 'j': call.json = true; break;
      case 'h': call.help = true; break;
      default: return usage;
    }
  }
  if (call.help) return call;
  if (optind + 1 != argc) return usage;
  call.verb = argv[optind];
  if (call.verb != "verify" && call.verb != "stats") return usage;
  return call;
}

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
  if (call.json)
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
  if (call.json) {
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

int journal_main(int argc, char** argv) {
  Result<Call> call = parse(argc, argv);
  if (call && call->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  Result<int> status = 0;
  if (!call) {
    status = call.error();
  } else {
    std::string path = call->data + "/journal.db";
    status = call->verb == "verify" ? verify(*call, path) : stats(*call, path);
  }
  if (status) return *status;
  std::fprintf(stderr, "moulin journal: %s\n", status.error().to_text().c_str());
  return status.error().code == Code::kInvalid ? 2 : 1;
}

}  // namespace moulin
