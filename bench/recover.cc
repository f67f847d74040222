// How long a server needs from a journal without snapshot to its state.
//
//   bench_recover [FOLDER]
//
// measures: recover_s recover_to_scan
// runs: 1
//
// Work: recover_core() over 1,000,000 events of some 160,000 workloads as the core makes
// them: submission, start, reports, end, and what time forgets. The limit, in the same
// run, is a scan that reads and decodes every event and checks the chain. Medians of five,
// from the page cache. The journal is made once and kept in FOLDER, by default the folder
// bench-data of the current folder's build.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/testing.h"
#include "journal/sqlite_journal.h"
#include "server/recovery.h"

namespace {

using namespace moulin;

constexpr int64_t kEvents = 1'000'000;
constexpr size_t kBatch = 5'000;
constexpr int kRuns = 5;

template <class Work>
double median_of(Work work) {
  std::vector<double> seconds;
  for (int turn = 0; turn < kRuns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Lives the life of one workload after the other and writes down what happened.
class History {
 public:
  explicit History(Journal& journal) : journal_(journal) {}

  void write() {
    while (written_ + static_cast<int64_t>(pending_.size()) < kEvents) one_workload();
    pending_.resize(static_cast<size_t>(kEvents - written_));
    flush();
  }

 private:
  void one_workload() {
    cluster_.now = cluster_.now + milliseconds(200);  // so that some 18,000 finished ones are in memory
    WorkloadSpec spec = TestCluster::make_spec("train-" + std::to_string(cluster_.ids));
    spec.argv = {"python", "train.py", "--epochs", "3"};
    spec.folder = "/home/somebody/project";
    spec.environment = {{"LR", "1e-4"}, {"SEED", std::to_string(cluster_.ids)}};
    WorkloadId id{++cluster_.ids};
    give(command::Submit{.workloads = {{.id = id, .spec = std::move(spec), .origin = {}}}});
    give(cluster_.start_command(id, 1));
    give(cluster_.started(id, 0));
    give(cluster_.exited(id, 0, {.code = 0}));
    std::optional<Instant> due = cluster_.core.agenda().next();
    if (due && *due <= cluster_.now) give(command::Tick{});
    if (pending_.size() >= kBatch) flush();
  }
  void give(CommandBody body) {
    for (const Event& event : cluster_.must(std::move(body))) {
      pending_.push_back({.time = event.at,
                          .type = event_type(event.body),
                          .workload = event_workload(event.body),
                          .bytes = encode_event(event)});
    }
  }
  void flush() {
    if (written_ == 0) prepend_beginning();
    MOULIN_CHECK(journal_.append(pending_).has_value(), "the batch is durable");
    written_ += std::ssize(pending_);
    pending_.clear();
  }
  // What the cluster's constructor gave before we could listen.
  void prepend_beginning() {
    std::vector<JournalRecord> life = std::exchange(pending_, {});
    Recorder beginning;
    for (const Event& event : beginning.events) {
      pending_.push_back({.time = event.at, .type = event_type(event.body), .bytes = encode_event(event)});
    }
    std::ranges::move(life, std::back_inserter(pending_));
  }

  // The same commands as TestCluster's.
  struct Recorder {
    Recorder() {
      give(command::BeginEpoch{.boot_id = "boot", .wall_offset = {}, .version = "test"});
      give(command::RegisterNode{TestCluster::make_node("n1")});
      give(command::CreateUser{.name = UserName("admin"), .account = {}});
      give(command::GrantRole{Binding{.user = UserName("admin"), .at = kRootTree, .role = Role::kAdmin}});
    }
    void give(CommandBody body) {
      Result<Events> made = core.execute({.at = Instant{} + hours(1), .body = std::move(body)});
      MOULIN_CHECK(made.has_value(), "as in the cluster");
      std::ranges::move(*made, std::back_inserter(events));
    }
    Core core;
    Events events;
  };

  Journal& journal_;
  TestCluster cluster_;
  std::vector<JournalRecord> pending_;
  int64_t written_ = 0;
};

std::unique_ptr<SqliteJournal> opened(const std::string& path) {
  auto journal = SqliteJournal::open(path, {});
  MOULIN_CHECK(journal.has_value(), journal ? "" : journal.error().to_text());
  return std::move(*journal);
}

void scan(const Journal& journal) {
  int64_t count = 0;
  Status read = journal.replay({}, [&](const StoredRecord& record) -> Status {
    TRY(decode_event(record.time, record.type, record.bytes));
    ++count;
    return {};
  });
  MOULIN_CHECK(read.has_value() && count == kEvents, "every event is there");
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path folder = argc > 1 ? argv[1] : "build/bench-data";
  std::filesystem::path path = folder / "recover-2/journal.db";  // another number: another content
  if (!std::filesystem::exists(path) || opened(path)->last().value != kEvents) {
    std::filesystem::remove_all(path.parent_path());
    std::filesystem::create_directories(path.parent_path());
    History(*opened(path)).write();
  }
  const auto journal = opened(path);
  scan(*journal);
  double scanned = median_of([&] { scan(*journal); });
  size_t workloads = 0;
  double recovered = median_of([&] {
    Result<Core> core = recover_core(*journal);
    MOULIN_CHECK(core.has_value() && core->state().sequence.value == kEvents, "the whole journal");
    workloads = core->state().workloads.size();
  });
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(R"({{"name":"recover_s","value":{:.3f},"unit":"s","better":"lower","goal":10,"limit":{:.3f},)"
             R"("others":{{"events":{},"workloads_in_memory":{},"payload_mb":{},"peak_rss_mb":{}}}}})"
             "\n",
             recovered, scanned, kEvents, workloads, journal->stats()->payload.count >> 20, usage.ru_maxrss / 1024);
  fmt::print(R"({{"name":"recover_to_scan","value":{:.3f},"unit":"times","better":"lower","goal":4,"limit":1}})"
             "\n",
             recovered / scanned);
  return 0;
}
