#include "shim/process_info.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace moulin {
namespace {

TEST_CASE("the text of a stat file, with a name that tries to mislead") {
  Result<ProcessFacts> facts = parse_process_stat(
      "123 (a) R 1 (b) S 45 46 47 0 -1 4194304 10 20 30 40 500 600 700 800 20 0 3 0 9999 1000000 250 1 2 3\n");
  REQUIRE(facts);
  CHECK(facts->pid == 123);
  CHECK(facts->state == 'S');
  CHECK(facts->parent == 45);
  CHECK(facts->session == 47);
  CHECK(facts->cpu == milliseconds(11'000));
  CHECK(facts->cpu_of_waited == milliseconds(15'000));
  CHECK(facts->tasks == 3);
  CHECK(facts->start_time == 9999);
  CHECK(facts->resident == Bytes{250 * ::sysconf(_SC_PAGESIZE)});
  for (const char* bad : {"", "123", "123 (a", "123 (a)", "123 (a) S 1 2 3"}) CHECK_FALSE(parse_process_stat(bad));
}

TEST_CASE("this process is known by number, start and boot") {
  ProcessIdentity self = process_identity(::getpid()).value();
  CHECK(still_runs(self));
  ProcessIdentity later = self;
  later.start_time += 1;
  CHECK_FALSE(still_runs(later));
  ProcessIdentity rebooted = self;
  rebooted.boot_id = "another";
  CHECK_FALSE(still_runs(rebooted));
  CHECK_FALSE(still_runs({}));
  CHECK_FALSE(process_facts(0x7fffffff));
  CHECK(process_facts(::getpid())->parent == ::getppid());
}

}  // namespace
}  // namespace moulin
