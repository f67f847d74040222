#include "engine/local/code_snapshot.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;
using testing::text_of_file;

struct CodeFolder {
  CodeFolder() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return temporary / "code"; }
  std::string snapshots() const { return temporary / "snapshots"; }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::path file = folder() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  StoredSnapshot store() const { return store_snapshot(folder(), snapshots()).value(); }
  std::string tree(const SnapshotId& id) const { return materialise_snapshot(id, snapshots()).value(); }
  TemporaryFolder temporary;
};

size_t files_below(const std::string& path) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

TEST_CASE("a folder comes back as it was, read-only") {
  CodeFolder code;
  code.write("train.py", "print('hi')\n");
  code.write("lib/deep/util.py", std::string("\0\xff binary", 9));
  code.write("run.sh", "#!/bin/sh\n");
  std::filesystem::permissions(code.folder() + "/run.sh", std::filesystem::perms(0755));
  std::filesystem::create_symlink("lib/deep", code.folder() + "/link");
  std::filesystem::create_directory(code.folder() + "/empty");
  ::mkfifo((code.folder() + "/pipe").c_str(), 0600);
  StoredSnapshot stored = code.store();
  CHECK(stored.passed_over == 1);
  CHECK(stored.entries == 7);
  std::string tree = code.tree(stored.id);
  CHECK(text_of_file(tree + "/train.py") == "print('hi')\n");
  CHECK(text_of_file(tree + "/link/util.py") == std::string("\0\xff binary", 9));
  CHECK(std::filesystem::is_directory(tree + "/empty"));
  CHECK(std::filesystem::read_symlink(tree + "/link") == "lib/deep");
  auto mode = [&](const char* path) { return std::filesystem::symlink_status(tree + path).permissions(); };
  CHECK(mode("/train.py") == std::filesystem::perms(0444));
  CHECK(mode("/run.sh") == std::filesystem::perms(0555));
  CHECK(mode("/lib") == std::filesystem::perms(0555));
  CHECK(mode("") == std::filesystem::perms(0555));
  CHECK(code.tree(stored.id) == tree);
}

TEST_CASE("equal folders have equal ids, and equal files are stored once") {
  CodeFolder code;
  code.write("a.py", "same");
  code.write("b.py", "same");
  SnapshotId first = code.store().id;
  std::filesystem::last_write_time(code.folder() + "/a.py", std::filesystem::file_time_type::min());
  CHECK(code.store().id == first);
  CHECK(files_below(code.snapshots() + "/objects") == 1);
  code.write("b.py", "other");
  CHECK_FALSE(code.store().id == first);
  CHECK(files_below(code.snapshots() + "/objects") == 2);
  CHECK(text_of_file(code.tree(first) + "/b.py") == "same");
}

TEST_CASE(".gitignore files are honoured, the deeper one first, and .git is left out") {
  CodeFolder code;
  code.write(".git/config", "x");
  code.write(".gitignore", "*.bin\n/data/\n__pycache__/\n");
  code.write("model.bin", "x");
  code.write("data/huge", "x");
  code.write("sub/data/small", "x");
  code.write("sub/__pycache__/a.pyc", "x");
  code.write("sub/.gitignore", "!keep.bin\nsecret\n");
  code.write("sub/keep.bin", "x");
  code.write("sub/secret", "x");
  code.write("secret", "x");
  std::string tree = code.tree(code.store().id);
  for (const char* kept : {"/.gitignore", "/sub/data/small", "/sub/keep.bin", "/secret", "/sub/.gitignore"}) {
    CHECK_MESSAGE(std::filesystem::exists(tree + kept), kept);
  }
  CHECK(files_below(tree) == 5);
}

TEST_CASE("too many files and too many bytes are refused, with what to do") {
  CodeFolder code;
  for (int i = 0; i < 5; ++i) code.write(fmt::format("{}.py", i), std::string(1000, 'x'));
  Result<StoredSnapshot> many = store_snapshot(code.folder(), code.snapshots(), {.entries = 4});
  REQUIRE_FALSE(many);
  CHECK(many.error().code == Code::kRefused);
  CHECK(many.error().to_do.contains(".gitignore"));
  Result<StoredSnapshot> large = store_snapshot(code.folder(), code.snapshots(), {.bytes = {4999}});
  REQUIRE_FALSE(large);
  CHECK(large.error().given.contains("4.py"));
  CHECK(store_snapshot(code.folder(), code.snapshots(), {.entries = 5, .bytes = {5000}}));
}

TEST_CASE("what is not there") {
  CodeFolder code;
  CHECK(store_snapshot(code.temporary / "none", code.snapshots()).error().code == Code::kNotFound);
  CHECK(materialise_snapshot({std::string(64, 'a')}, code.snapshots()).error().code == Code::kNotFound);
  CHECK(parse_snapshot_id(std::string(64, 'a')));
  for (const char* bad : {"", "../x", "ABC"}) CHECK_FALSE(parse_snapshot_id(bad));
}

TEST_CASE("damaged contents are noticed and leave no tree") {
  CodeFolder code;
  code.write("a.py", "text");
  StoredSnapshot stored = code.store();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(code.snapshots() + "/objects")) {
    if (!entry.is_regular_file()) continue;
    std::filesystem::permissions(entry.path(), std::filesystem::perms(0600));
    std::ofstream(entry.path()) << "evil";
  }
  CHECK(materialise_snapshot(stored.id, code.snapshots()).error().code == Code::kInternal);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(code.snapshots())) {
    left.push_back(entry.path().filename());
  }
  std::ranges::sort(left);
  CHECK(left == std::vector<std::string>{"manifests", "objects"});
}

}  // namespace
}  // namespace moulin
