#include "server/data_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "shim/temporary_folder.h"

namespace moulin::testing {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat about{};
  MOULIN_CHECK(::stat(path.c_str(), &about) == 0, path);
  return about.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a data folder is made for its owner only, and knows where everything lies") {
  TemporaryFolder parent;
  Result<DataFolder> folder = DataFolder::open(parent / "new/deep/");
  REQUIRE(folder.has_value());
  CHECK(folder->path() == parent / "new/deep");
  unsigned mode = ::geteuid() == 0 ? 0711 : 0700;  // replicas run as others below root
  CHECK(mode_of(folder->path()) == mode);
  CHECK(mode_of(folder->attempts()) == mode);
  CHECK(mode_of(folder->snapshots()) == mode);
  CHECK(text_of_file(parent / "new/deep/lock") == std::to_string(::getpid()));
}

TEST_CASE("one server at a time: the second is told who has it, and gets it when the first is gone") {
  TemporaryFolder parent;
  std::optional<Result<DataFolder>> first = DataFolder::open(parent / "data");
  REQUIRE(first->has_value());
  Result<DataFolder> second = DataFolder::open(parent / "data");
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::kConflict);
  CHECK(second.error().message.find(std::to_string(::getpid())) != std::string::npos);
  CHECK(second.error().given == parent / "data");
  CHECK_FALSE(second.error().to_do.empty());
  first.reset();
  CHECK(DataFolder::open(parent / "data").has_value());
}

TEST_CASE("a path that is no folder, and a lock that is a link, are refused") {
  TemporaryFolder parent;
  std::ofstream(parent / "file") << "x";
  CHECK(DataFolder::open(parent / "file").error().code == Code::kUnavailable);
  std::filesystem::create_directory(parent / "data");
  std::filesystem::create_symlink(parent / "file", parent / "data/lock");
  CHECK(DataFolder::open(parent / "data").error().code == Code::kUnavailable);
  CHECK(text_of_file(parent / "file") == "x");
}

}  // namespace moulin::testing
