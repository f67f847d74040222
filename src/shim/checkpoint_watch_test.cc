#include "shim/checkpoint_watch.h"

#include <signal.h>
#include <sys/stat.h>

#include <doctest/doctest.h>
#include <poll.h>

#include "shim/process_info.h"
#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;

void replace(const TemporaryFolder& folder) {
  std::ofstream(folder / "new") << "1";
  std::filesystem::rename(folder / "new", folder / "checkpoint");
}

// Waits until the process has something to say.
bool speaks(const CheckpointWatch& watch) {
  constexpr int kPatienceMs = 30'000;
  pollfd wait{.fd = watch.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, kPatienceMs) == 1;
}

pid_t only_child() {
  std::vector<int64_t> children = children_of(::getpid());
  REQUIRE(children.size() == 1);
  return static_cast<pid_t>(children.front());
}

}  // namespace

TEST_CASE("what is there at first is no checkpoint; what replaces it is") {
  TemporaryFolder folder;
  replace(folder);
  CheckpointWatch watch;
  REQUIRE(watch.start(folder / "checkpoint", std::nullopt).has_value());
  CHECK(watch.changes() == 0);
  replace(folder);
  CHECK(speaks(watch));
  CHECK(watch.changes() == 1);
  CHECK(watch.changes() == 0);
}

TEST_CASE("the last look sees what was saved just before the end") {
  TemporaryFolder folder;
  CheckpointWatch watch;
  REQUIRE(watch.start(folder / "checkpoint", std::nullopt).has_value());
  replace(folder);
  CHECK(watch.last_changes() == 1);
  CHECK_FALSE(watch.running());
  CHECK(children_of(::getpid()).empty());
}

TEST_CASE("a look that hangs holds up nobody") {
  TemporaryFolder folder;
  CheckpointWatch watch;
  REQUIRE(watch.start(folder / "checkpoint", std::nullopt).has_value());
  ::kill(only_child(), SIGSTOP);
  replace(folder);
  Instant before = boot_time_now();
  CHECK(watch.changes() == 0);
  CHECK(boot_time_now() - before < CheckpointWatch::kPatience);
  CHECK(watch.last_changes() == 0);  // after its patience
}

TEST_CASE("a process that was killed is started again and knows what was known") {
  TemporaryFolder folder;
  CheckpointWatch watch;
  REQUIRE(watch.start(folder / "checkpoint", std::nullopt).has_value());
  ::kill(only_child(), SIGKILL);
  CHECK(speaks(watch));
  CHECK(watch.changes() == 0);
  CHECK_FALSE(watch.running());
  replace(folder);
  REQUIRE(watch.start(folder / "checkpoint", std::nullopt).has_value());
  CHECK(watch.changes() == 1);
}

TEST_CASE("a file is looked at with the rights of the account, not with ours") {
  if (::geteuid() != 0) return;
  TemporaryFolder folder;
  Account nobody = find_account("nobody").value();
  replace(folder);
  ::chmod(folder.path().c_str(), 0700);
  CheckpointWatch watch;
  REQUIRE(watch.start(folder / "checkpoint", nobody).has_value());
  replace(folder);
  CHECK(watch.last_changes() == 0);
  ::chmod(folder.path().c_str(), 0711);
  REQUIRE(watch.start(folder / "checkpoint", nobody).has_value());
  CHECK(watch.last_changes() == 1);  // now it may see it
}

TEST_CASE("an account that could not be looked up is not one that does not exist") {
  CHECK(account_error("ada", 0).code == Code::kNotFound);
  CHECK(account_error("ada", ENOENT).code == Code::kNotFound);
  Error failed = account_error("ada", EIO);
  CHECK(failed.code == Code::kUnavailable);
  CHECK(failed.message.contains("could not be looked up"));
  CHECK(find_account("no-such-account").error().code == Code::kNotFound);
}

}  // namespace moulin
