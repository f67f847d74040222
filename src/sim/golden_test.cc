#include "sim/golden.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace moulin {

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the journal of every release is read as on the day it was written") {
  int64_t journals = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("tests/golden")) {
    if (entry.path().extension() != ".journal") continue;
    ++journals;
    fs::path state = entry.path();
    state.replace_extension(".state");
    GoldenFiles files{.journal = read_file(entry.path()), .state = read_file(state)};
    CAPTURE(entry.path().string());
    Status status = check_golden(files);
    CHECK_MESSAGE(status.has_value(), (status ? "" : status.error().message));
  }
  CHECK(journals > 0);
}

TEST_CASE("a golden journal that was touched is found out") {
  GoldenFiles files{.journal = read_file("tests/golden/v1.journal"), .state = read_file("tests/golden/v1.state")};
  REQUIRE(check_golden(files).has_value());
  SUBCASE("a line less") { files.journal.erase(files.journal.rfind('\n', files.journal.size() - 2) + 1); }
  SUBCASE("a letter in the state") { files.state[files.state.size() / 2] ^= 1; }
  SUBCASE("no hexadecimal") { files.journal[files.journal.find('\n') - 1] = 'x'; }
  SUBCASE("half a line") { files.journal.resize(files.journal.size() - 4); }
  CHECK_FALSE(check_golden(files).has_value());
}

}  // namespace moulin
