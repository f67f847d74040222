#include "shim/exchange.h"

#include <doctest/doctest.h>

#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;

TEST_CASE("a file that is replaced has changed, once") {
  TemporaryFolder folder;
  FileWatch watch;
  auto changed = [&] { return watch.take(look_at(folder / "checkpoint")); };
  CHECK_FALSE(changed());
  std::ofstream(folder / "new") << "1";
  std::filesystem::rename(folder / "new", folder / "checkpoint");
  CHECK(changed());
  CHECK_FALSE(changed());
  std::ofstream(folder / "new") << "1";
  std::filesystem::rename(folder / "new", folder / "checkpoint");
  CHECK(changed());
  std::filesystem::remove(folder / "checkpoint");
  CHECK_FALSE(changed());
}

TEST_CASE("what is there at first is known; a link that is replaced has changed") {
  TemporaryFolder folder;
  std::filesystem::create_symlink("step-1", folder / "latest");
  FileWatch watch;
  auto changed = [&] { return watch.take(look_at(folder / "latest")); };
  CHECK_FALSE(changed());
  std::filesystem::create_symlink("step-2", folder / "new");
  std::filesystem::rename(folder / "new", folder / "latest");
  CHECK(changed());
}

TEST_CASE("activity as programs write it") {
  CHECK(parse_activity("37") == 37'000);
  CHECK(parse_activity("37.5\n") == 37'500);
  CHECK(parse_activity("37.12345") == 37'123);
  CHECK(parse_activity("100%") == 100'000);
  CHECK(parse_activity("5000") == 100'000);
  CHECK(parse_activity("0") == 0);
  for (const char* bad : {"", "busy", "-3", "1e2", " "}) CHECK_FALSE(parse_activity(bad));
}

TEST_CASE("declared activity is added up over the time in which it was declared") {
  ActivityMeter meter;
  meter.add("50", seconds(10));
  meter.add(std::nullopt, seconds(10));
  meter.add("rubbish", seconds(10));
  meter.add("100", seconds(5));
  CHECK(meter.declared() == seconds(10));
  CHECK(meter.declared_wall() == seconds(15));
}

}  // namespace
}  // namespace moulin
