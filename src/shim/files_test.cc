#include "shim/files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;
using testing::text_of_file;

TEST_CASE("files are replaced whole and privately") {
  TemporaryFolder folder;
  Fd fd = open_folder(folder.path()).value();
  CHECK(write_atomically(fd, "status", "one", Durability::kDisk));
  CHECK(write_atomically(fd, "status", "two", Durability::kProcess));
  CHECK(read_file_in(fd, "status", kibibytes(1)).value() == "two");
  CHECK((std::filesystem::status(folder / "status").permissions() & std::filesystem::perms(0777)) ==
        std::filesystem::perms(0600));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("links are not followed, and what is no file is not read") {
  TemporaryFolder folder;
  Fd fd = open_folder(folder.path()).value();
  std::ofstream(folder / "victim") << "untouched";
  std::filesystem::create_symlink("victim", folder / "status");
  CHECK_FALSE(read_file_in(fd, "status", kibibytes(1)));
  CHECK(write_atomically(fd, "status", "mine", Durability::kProcess));
  CHECK(text_of_file(folder / "victim") == "untouched");
  CHECK(read_file_in(fd, "status", kibibytes(1)).value() == "mine");
  ::mkfifo((folder / "pipe").c_str(), 0600);
  CHECK(read_file_in(fd, "pipe", kibibytes(1)).error().code == Code::kInvalid);
  std::filesystem::create_directory_symlink(folder.path(), folder / "again");
  CHECK_FALSE(open_folder_in(fd, "again"));
  CHECK_FALSE(open_folder(folder / "again"));
  CHECK(open_chosen_folder(folder / "again"));
}

TEST_CASE("errors say what, why, and with which code") {
  TemporaryFolder folder;
  Fd fd = open_folder(folder.path()).value();
  CHECK(read_file_in(fd, "none", kibibytes(1)).error().code == Code::kNotFound);
  CHECK(write_atomically(fd, "large", std::string(2000, 'x'), Durability::kProcess));
  CHECK(read_file_in(fd, "large", kibibytes(1)).error().code == Code::kTooLarge);
  Error full = system_error("write the status", ENOSPC);
  CHECK(full.code == Code::kUnavailable);
  CHECK(full.message == "cannot write the status: No space left on device");
}

}  // namespace
}  // namespace moulin
