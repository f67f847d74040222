// Real processes that append and are killed at any moment.
//
// The test starts itself again as the child: "child: append until killed" is skipped in
// a normal run. The child's working folder is the journal's, and it writes the last
// acknowledged sequence to file descriptor 3 after each batch.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "journal/committer.h"
#include "journal/sqlite_journal.h"
#include "journal/testing.h"
#include "journal/verify.h"

namespace moulin::testing {
namespace {

constexpr int kTell = 3;
constexpr int64_t kBatch = 7;

// Record i of a run is always the same, so that the parent knows what must be there.
JournalRecord record_number(int64_t number) {
  Rng rng(static_cast<uint64_t>(number));
  JournalRecord record = random_record(rng);
  record.bytes += std::to_string(number);
  return record;
}

std::vector<JournalRecord> records_after(Sequence last, int64_t count) {
  std::vector<JournalRecord> records;
  for (int64_t i = 1; i <= count; ++i) records.push_back(record_number(last.value + i));
  return records;
}

class Child {
 public:
  Child(const std::string& folder, const char* test_case) {
    int ends[2];
    MOULIN_CHECK(::pipe2(ends, O_CLOEXEC) == 0, "a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // Through a number of its own, lest the pipe already be 3 and keep its close-on-exec.
    posix_spawn_file_actions_adddup2(&actions, ends[1], 100);
    posix_spawn_file_actions_adddup2(&actions, 100, kTell);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    const std::string filter = fmt::format("--test-case={}", test_case);
    const char* arguments[] = {"journal_test", "--no-skip", filter.c_str(), nullptr};
    const int result = ::posix_spawn(&id_, "/proc/self/exe", &actions, nullptr, const_cast<char**>(arguments), environ);
    MOULIN_CHECK(result == 0, "the child starts");
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    read_end_ = ends[0];
  }
  Child(const Child&) = delete;
  ~Child() {
    kill();
    ::close(read_end_);
  }

  // The next number that the child told, or -1 when it ended.
  int64_t next() {
    int64_t number = -1;
    ssize_t size = 0;
    do size = ::read(read_end_, &number, sizeof number);
    while (size < 0 && errno == EINTR);
    return size == sizeof number ? number : -1;
  }
  void kill() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      wait();
    }
  }
  int wait() {
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = -1;
    return status;
  }

 private:
  pid_t id_ = -1;
  int read_end_ = -1;
};

void tell(int64_t number) {
  MOULIN_CHECK(::write(kTell, &number, sizeof number) == sizeof number, "the parent listens");
}

}  // namespace

TEST_CASE("child: append until killed" * doctest::skip()) {
  auto journal = SqliteJournal::open("journal.db", {});
  MOULIN_CHECK(journal.has_value(), "the journal opens");
  Committer committer(**journal, {.batches_max = 16});
  committer.start();
  Sequence submitted = (*journal)->last();
  while (true) {
    const Status status = committer.submit(records_after(submitted, kBatch), [](const Result<Sequence>& last) {
      MOULIN_CHECK(last.has_value(), "the disk works");
      tell(last->value);
    });
    if (status) {
      submitted = {submitted.value + kBatch};
      if (submitted.value % (50 * kBatch) == 0) {
        // A snapshot of what is durable; it may be killed in the middle too.
        MOULIN_CHECK((*journal)->save_snapshot({(*journal)->last(), 1, std::string(50'000, 's')}).has_value());
      }
    } else {
      ::sched_yield();  // the queue is full
    }
  }
}

TEST_CASE("a process killed at any moment loses nothing acknowledged") {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  Rng rng(1);
  int64_t acknowledged = 0;
  for (int round = 0; round < 25; ++round) {
    Child child(folder.path(), "child: append until killed");
    const int64_t count = rng.between(1, 150);
    int64_t told = 0;
    for (int64_t i = 0; i < count; ++i) {
      told = child.next();
      REQUIRE(told > acknowledged);
      acknowledged = told;
    }
    child.kill();
    // It went on while we read.
    while ((told = child.next()) != -1) acknowledged = told;

    const auto journal = SqliteJournal::open(folder / "journal.db", {});
    REQUIRE_OK(journal);
    const int64_t held = (*journal)->last().value;
    REQUIRE(held >= acknowledged);
    REQUIRE(held % kBatch == 0);
    const auto found = replayed(**journal);
    REQUIRE_OK(found);
    REQUIRE(std::ssize(*found) == held);
    int64_t right = 0;
    for (const ReadRecord& record : *found) {
      if (same(record.record, record_number(record.sequence.value))) ++right;
    }
    REQUIRE(right == held);
    REQUIRE_OK((*journal)->load_snapshot(1));
  }
  const auto report = verify_journal(folder / "journal.db");
  REQUIRE_OK(report);
  CHECK(report->good());
}

TEST_CASE("child: append above a file size limit" * doctest::skip()) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto journal = SqliteJournal::open("journal.db", {});
  MOULIN_CHECK(journal.has_value(), "the journal opens");
  struct rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 400'000;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  Status status;
  while ((status = (*journal)->append(records_after((*journal)->last(), 100)))) {
  }
  const Status again = (*journal)->append(records_after((*journal)->last(), 100));
  const Status probe = (*journal)->probe();
  const auto readable = replayed(**journal);
  const bool refused = status.error().code == Code::kUnavailable && !again && !probe && readable.has_value() &&
                       status.error().message.contains("File too large");
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const bool resumed = (*journal)->probe() && (*journal)->append(records_after((*journal)->last(), 100));
  tell(refused && resumed ? (*journal)->last().value : 0);
}

TEST_CASE("a real file size limit refuses appends, keeps reads, and lets go") {
  const TemporaryFolder folder;
  Child child(folder.path(), "child: append above a file size limit");
  const int64_t last = child.next();
  REQUIRE(last > 100);
  CHECK(child.wait() == 0);
  const auto journal = SqliteJournal::open(folder / "journal.db", {});
  REQUIRE_OK(journal);
  CHECK((*journal)->last().value == last);
  require_holds(**journal, records_after({}, last));
}

}  // namespace moulin::testing
