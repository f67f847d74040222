#include "server/installation.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "shim/temporary_folder.h"

namespace moulin::testing {

namespace {

DataFolder open(const std::string& path) { return DataFolder::open(path).value(); }

}  // namespace

TEST_CASE("a data folder keeps its identity, also when it is renamed or the machine restarts") {
  TemporaryFolder parent;
  Installation first = identify(open(parent / "a"), "boot-1", FolderOrigin::kBegunHere).value();
  CHECK(first.id.size() == 32);
  CHECK(first.claims_unmarked);
  CHECK(identify(open(parent / "a"), "boot-1", FolderOrigin::kBegunHere).value().id == first.id);
  CHECK(identify(open(parent / "a"), "boot-2", FolderOrigin::kBegunHere).value().id == first.id);
  std::filesystem::rename(parent / "a", parent / "b");
  CHECK(identify(open(parent / "b"), "boot-2", FolderOrigin::kBegunHere).value().id == first.id);
}

TEST_CASE("a copy is refused where the original's workloads may run, and gets another identity") {
  TemporaryFolder parent;
  std::string original = identify(open(parent / "a"), "boot", FolderOrigin::kBegunHere).value().id;
  std::filesystem::copy(parent / "a", parent / "b", std::filesystem::copy_options::recursive);
  Result<Installation> refused = identify(open(parent / "b"), "boot", FolderOrigin::kBegunHere);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::kConflict);
  CHECK(refused.error().message.contains(parent / "a"));
  CHECK(refused.error().to_do.contains("--copy"));

  Installation copy = identify(open(parent / "b"), "boot", FolderOrigin::kCopy).value();
  CHECK(copy.id != original);
  CHECK_FALSE(copy.claims_unmarked);
  // From then on it is an installation like any other.
  Installation later = identify(open(parent / "b"), "boot", FolderOrigin::kBegunHere).value();
  CHECK(later.id == copy.id);
  CHECK_FALSE(later.claims_unmarked);
  CHECK(identify(open(parent / "a"), "boot", FolderOrigin::kBegunHere).value().id == original);
}

TEST_CASE("after a restart of the machine a copy may be served: nothing runs that it could claim") {
  TemporaryFolder parent;
  std::string original = identify(open(parent / "a"), "boot-1", FolderOrigin::kBegunHere).value().id;
  std::filesystem::copy(parent / "a", parent / "b", std::filesystem::copy_options::recursive);
  CHECK(identify(open(parent / "b"), "boot-2", FolderOrigin::kBegunHere).value().id != original);
}

TEST_CASE("to call a folder a copy that is none changes nothing") {
  TemporaryFolder parent;
  std::string first = identify(open(parent / "a"), "boot", FolderOrigin::kCopy).value().id;
  CHECK(identify(open(parent / "a"), "boot", FolderOrigin::kCopy).value().id == first);
}

}  // namespace moulin::testing
