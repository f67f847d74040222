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
  REQUIRE(write_file(parent / "file", "x", 0600).has_value());
  CHECK(DataFolder::open(parent / "file").error().code == Code::kUnavailable);
  std::filesystem::create_directory(parent / "data");
  std::filesystem::create_symlink(parent / "file", parent / "data/lock");
  CHECK(DataFolder::open(parent / "data").error().code == Code::kUnavailable);
  CHECK(text_of_file(parent / "file") == "x");
}

TEST_CASE("files are replaced as a whole with the mode asked for, and read up to a size") {
  TemporaryFolder folder;
  REQUIRE(write_file(folder / "a", "first", 0600).has_value());
  REQUIRE(write_file(folder / "a", "second", 0640).has_value());
  CHECK(mode_of(folder / "a") == 0640);
  CHECK(read_file(folder / "a", 6).value() == "second");
  CHECK(read_file(folder / "a", 5).error().code == Code::kTooLarge);
  CHECK(read_file(folder / "none", 5).error().code == Code::kNotFound);
  CHECK(read_file(folder.path(), 5).error().code == Code::kUnavailable);
  CHECK(write_file(folder / "none/a", "x", 0600).error().code == Code::kNotFound);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

}  // namespace moulin::testing
