#include "engine/local/old_attempts.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "engine/local/attempt_store.h"
#include "shim/temporary_folder.h"

namespace moulin {
namespace {

constexpr int64_t kNowUs = 1'700'000'000'000'000;
constexpr WorkloadId kFinished{1};
constexpr WorkloadId kRunning{2};  // its newest attempt is 3

class Attempts {
 public:
  Attempts() : store_(AttemptStore::open(data_.path()).value()) {}

  // One with a log of that size, last written that long ago.
  void add(WorkloadId workload, int32_t attempt, Duration ago, size_t bytes = 10) {
    ReplicaKey key{workload, {attempt}, {0}};
    Fd folder = store_.make_folder(key).value();
    std::string path = store_.path(key);
    std::ofstream(path + "/stdout.1.log") << std::string(bytes, 'x');
    int64_t at = (kNowUs - ago.us) / 1'000'000;
    timespec times[2] = {{.tv_sec = at, .tv_nsec = 0}, {.tv_sec = at, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, (path + "/stdout.1.log").c_str(), times, 0) == 0);
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  }
  RemovedAttempts remove(const LogsKept& kept) {
    Result<RemovedAttempts> removed =
        remove_old_attempts({.data_folder = data_.path(),
                             .kept = kept,
                             .wall_now_us = kNowUs,
                             .needs = [](WorkloadId id) -> WorkloadNeeds {
                               if (id == kRunning) return {.needed = Needed::kNewest, .newest = {3}};
                               return {.needed = id == kFinished ? Needed::kNothing : Needed::kAll};
                             },
                             .stop = [] { return false; }});
    REQUIRE(removed.has_value());
    return *removed;
  }
  bool has(WorkloadId workload, int32_t attempt) const {
    return !replicas_on_disk(data_.path(), workload, {attempt}).empty();
  }
  std::string workload_folder(WorkloadId id) const { return data_.path() + "/attempts/" + to_text(id); }
  const AttemptStore& store() const { return store_; }

 private:
  testing::TemporaryFolder data_;
  AttemptStore store_;
};

}  // namespace

TEST_CASE("attempts go when they are older than logs are kept, with all that is left of a finished workload") {
  Attempts attempts;
  attempts.add(kFinished, 1, hours(50));
  attempts.add(kFinished, 2, hours(40));
  REQUIRE(attempts.store().make_kept_folder({kFinished, {1}, {0}}).has_value());
  CHECK(attempts.remove({.age = hours(45)}).attempts == 1);
  CHECK_FALSE(attempts.has(kFinished, 1));
  CHECK(attempts.has(kFinished, 2));
  CHECK(std::filesystem::exists(attempts.workload_folder(kFinished) + "/kept/0"));
  CHECK(attempts.remove({.age = hours(30)}).attempts == 1);
  CHECK_FALSE(std::filesystem::exists(attempts.workload_folder(kFinished)));
  CHECK(attempts.remove({.age = hours(30)}).attempts == 0);
}

TEST_CASE("the newest attempt of an unfinished workload stays however old it is, and so does its checkpoint") {
  Attempts attempts;
  for (int32_t attempt : {1, 2, 3}) attempts.add(kRunning, attempt, hours(100));
  REQUIRE(attempts.store().make_kept_folder({kRunning, {1}, {0}}).has_value());
  CHECK(attempts.remove({.age = hours(1), .size = {1}}).attempts == 2);
  CHECK(attempts.has(kRunning, 3));
  CHECK(std::filesystem::exists(attempts.workload_folder(kRunning) + "/kept/0"));
}

TEST_CASE("the oldest go first until the rest is small enough") {
  Attempts attempts;
  for (int32_t attempt = 1; attempt <= 5; ++attempt) attempts.add(kFinished, attempt, hours(10 - attempt), 1 << 20);
  RemovedAttempts removed = attempts.remove({.age = {}, .size = mebibytes(3)});
  CHECK(removed.attempts >= 2);
  CHECK(removed.size >= mebibytes(2));
  CHECK_FALSE(attempts.has(kFinished, 1));
  CHECK_FALSE(attempts.has(kFinished, 2));
  CHECK(attempts.has(kFinished, 5));
  CHECK(attempts.remove({.age = {}, .size = {}}).attempts == 0);  // no limit at all
}

TEST_CASE("what was not released, or of which nothing is known, is left alone") {
  Attempts attempts;
  attempts.add(kFinished, 1, hours(100));
  REQUIRE(attempts.store().mark_live({kFinished, {1}, {0}}).has_value());
  attempts.add({99}, 1, hours(100));
  CHECK(attempts.remove({.age = hours(1), .size = {1}}).attempts == 0);
  CHECK(attempts.has(kFinished, 1));
  CHECK(attempts.has({99}, 1));
}

TEST_CASE("an attempt whose folder is still empty is as old as the folder") {
  Attempts attempts;
  std::string folder = attempts.workload_folder(kFinished) + "/1";
  std::filesystem::create_directories(folder);
  CHECK(attempts.remove({.age = hours(1)}).attempts == 0);  // made right now
  timespec long_ago{.tv_sec = kNowUs / 1'000'000 - 7200, .tv_nsec = 0};
  timespec times[2] = {long_ago, long_ago};
  REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), times, 0) == 0);
  CHECK(attempts.remove({.age = hours(1)}).attempts == 1);
}

TEST_CASE("links in what programs left behind are removed, not followed") {
  Attempts attempts;
  testing::TemporaryFolder elsewhere;
  std::ofstream(elsewhere / "precious") << "1";
  attempts.add(kFinished, 1, hours(100));
  std::string folder = attempts.store().path({kFinished, {1}, {0}});
  std::filesystem::create_directories(folder + "/exchange/deep/deeper");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder + "/exchange/deep/link");
  std::filesystem::last_write_time(folder + "/exchange", std::filesystem::file_time_type::min());
  attempts.remove({.age = {}, .size = {1}});
  CHECK_FALSE(attempts.has(kFinished, 1));
  CHECK(std::filesystem::exists(elsewhere / "precious"));
}

}  // namespace moulin
