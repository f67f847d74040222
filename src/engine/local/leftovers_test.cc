#include "engine/local/leftovers.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace moulin {
namespace {

// Each of these would kill this very test if the identity were not checked.
TEST_CASE("nothing of before a restart of the machine is looked for") {
  ProcessIdentity self = process_identity(::getpid()).value();
  self.boot_id = "before";
  Leftovers leftovers({.shim = self, .guard = self, .containment = ContainmentKind::kPidNamespace}, {});
  CHECK(leftovers.end(Instant{}));
}

TEST_CASE("a later process with the same number is left alone") {
  ProcessIdentity self = process_identity(::getpid()).value();
  ProcessIdentity earlier = self;
  earlier.start_time -= 1;
  Leftovers leftovers({.shim = earlier, .guard = earlier, .containment = ContainmentKind::kPidNamespace}, {});
  CHECK(leftovers.end(Instant{}));
}

TEST_CASE("a cgroup that is gone has nothing left in it") {
  ProcessIdentity self = process_identity(::getpid()).value();
  Leftovers leftovers(
      {.shim = self, .guard = {}, .containment = ContainmentKind::kCgroup, .cgroup = "/no/such/cgroup"}, {});
  CHECK(leftovers.end(Instant{}));
}

TEST_CASE("a mark that nobody carries must be missing twice") {
  ProcessIdentity self = process_identity(::getpid()).value();
  Leftovers leftovers({.shim = self, .containment = ContainmentKind::kSubreaper, .mark = "nobody-has-this"}, {});
  CHECK_FALSE(leftovers.end(Instant{}));
  CHECK(leftovers.end(Instant{}));
}

}  // namespace
}  // namespace moulin
