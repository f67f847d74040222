#include "shim/cgroup.h"

#include <doctest/doctest.h>

#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;
using testing::text_of_file;

TEST_CASE("the mount is found among others, with its odd characters") {
  CHECK(cgroup_mount("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
                     "36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                     "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n") ==
        "/sys/fs/cgroup/unified");
  CHECK(cgroup_mount("41 31 0:38 / /a\\040b\\134c rw - cgroup2 none rw\n") == "/a b\\c");
  CHECK_FALSE(cgroup_mount("36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"));
  CHECK_FALSE(cgroup_mount(""));
}

TEST_CASE("our own group is found") {
  CHECK(cgroup_own_path("4:memory:/x\n0::/system.slice/moulin.service\n") == "/system.slice/moulin.service");
  CHECK(cgroup_own_path("0::/\n") == "/");
  CHECK_FALSE(cgroup_own_path("4:memory:/x\n"));
}

// A folder with the files that a kernel with all controllers would have.
TEST_CASE("limits are written as the kernel wants them, and only where there is a controller") {
  TemporaryFolder folder;
  for (const char* file : {"cpu.max", "memory.max", "memory.swap.max", "memory.oom.group"}) {
    std::ofstream(folder / file) << "";
  }
  Cgroup group = Cgroup::open(folder.path()).value();
  CgroupLimits enforced = group.limit({.cpu = {2500}, .memory = mebibytes(1), .tasks = 7});
  CHECK(enforced.cpu);
  CHECK(enforced.memory);
  CHECK_FALSE(enforced.tasks);
  CHECK(text_of_file(folder / "cpu.max") == "250000 100000");
  CHECK(text_of_file(folder / "memory.max") == "1048576");
  CHECK(text_of_file(folder / "memory.swap.max") == "0");
  CHECK(text_of_file(folder / "memory.oom.group") == "1");
}

TEST_CASE("figures are read, and their absence is no zero") {
  TemporaryFolder folder;
  Cgroup group = Cgroup::open(folder.path()).value();
  CHECK(group.populated());
  CHECK_FALSE(group.cpu());
  CHECK_FALSE(group.memory_peak());
  CHECK_FALSE(group.hit_memory_limit());
  std::ofstream(folder / "cgroup.events") << "populated 0\nfrozen 0\n";
  std::ofstream(folder / "cpu.stat") << "usage_usec 1234567\nuser_usec 1\n";
  std::ofstream(folder / "memory.peak") << "4096\n";
  std::ofstream(folder / "memory.events") << "low 0\noom 1\noom_kill 2\n";
  CHECK_FALSE(group.populated());
  CHECK(group.cpu() == microseconds(1'234'567));
  CHECK(group.memory_peak() == Bytes{4096});
}

TEST_CASE("members that die because the machine has no memory left have not reached their limit") {
  TemporaryFolder folder;
  Cgroup group = Cgroup::open(folder.path()).value();
  std::ofstream(folder / "memory.events") << "low 0\noom 0\noom_kill 2\n";
  CHECK_FALSE(group.hit_memory_limit());
  std::ofstream(folder / "memory.events") << "low 0\noom 1\noom_kill 2\n";
  CHECK(group.hit_memory_limit());
  // The limit of a group that the program made below its own.
  std::ofstream(folder / "memory.events.local") << "low 0\noom 0\noom_kill 0\n";
  CHECK_FALSE(group.hit_memory_limit());
  std::ofstream(folder / "memory.events.local") << "low 0\noom 3\noom_kill 1\n";
  CHECK(group.hit_memory_limit());
}

}  // namespace
}  // namespace moulin
