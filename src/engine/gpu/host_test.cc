#include "engine/gpu/host.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "engine/gpu/fault_memory.h"

using namespace moulin;

namespace {

// A /proc and a cgroup tree of the test's making.
class Machine {
 public:
  Machine() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moulin-host-XXXXXX").string();
    MOULIN_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary folder");
    folder_ = pattern;
    write("proc/meminfo", "MemTotal:       24689764 kB\nMemFree: 1 kB\n");
    write("proc/sys/kernel/hostname", "mill\n");
    write("proc/sys/kernel/random/boot_id", "6b6a0f0c\n");
  }
  ~Machine() { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  HostFacts facts() const { return *host_facts(folder_ + "/proc"); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace

TEST_CASE("without cgroups the machine has what it has") {
  Machine machine;
  HostFacts facts = machine.facts();
  CHECK(facts.name == "mill");
  CHECK(facts.boot_id == "6b6a0f0c");
  CHECK(facts.memory == kibibytes(24689764));
  CHECK(facts.cpu.milli >= 1000);
  CHECK(facts.cpu.milli % 1000 == 0);
}

TEST_CASE("the least limit of our cgroups and those above counts, version 2") {
  Machine machine;
  machine.write("proc/self/cgroup", "0::/a/b\n");
  machine.write("proc/self/mountinfo", "31 23 0:28 / " + machine.folder() + "/cg rw - cgroup2 cgroup2 rw\n");
  machine.write("cg/a/b/cpu.max", "max 100000\n");
  machine.write("cg/a/cpu.max", "25000 100000\n");
  machine.write("cg/a/b/memory.max", "max\n");
  machine.write("cg/a/memory.max", "1073741824\n");
  CHECK(machine.facts().cpu == CpuMilli{250});
  CHECK(machine.facts().memory == gibibytes(1));
}

TEST_CASE("version 1, seen from a container whose cgroup is the mount") {
  Machine machine;
  machine.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n");
  machine.write("proc/self/mountinfo", "1 2 0:1 /docker/x " + machine.folder() +
                                           "/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n" + "1 2 0:1 /docker/x " +
                                           machine.folder() + "/memory rw - cgroup cgroup rw,memory\n");
  machine.write("cpu/cpu.cfs_quota_us", "50000\n");
  machine.write("cpu/cpu.cfs_period_us", "100000\n");
  machine.write("memory/memory.limit_in_bytes", "2147483648\n");
  CHECK(machine.facts().cpu == CpuMilli{500});
  CHECK(machine.facts().memory == gibibytes(2));
  machine.write("cpu/cpu.cfs_quota_us", "-1\n");
  machine.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.facts().cpu.milli >= 1000);
  CHECK(machine.facts().memory == kibibytes(24689764));
}

TEST_CASE("cgroups are found innermost first") {
  CgroupFolders folders = find_cgroups("0::/a/b\n", "1 2 0:1 / /cg rw - cgroup2 none rw\n");
  CHECK(folders.cpu == std::vector<std::string>{"/cg/a/b", "/cg/a", "/cg"});
  CHECK(folders.memory == folders.cpu);
  // A process outside the part that is mounted.
  folders = find_cgroups("0::/../other\n", "1 2 0:1 /x /cg rw - cgroup2 none rw\n");
  CHECK(folders.cpu == std::vector<std::string>{"/cg"});
  CHECK(find_cgroups("", "").cpu.empty());
  CHECK(find_cgroups("nonsense\n::\n", "a b\n - \n").cpu.empty());
}

TEST_CASE("a broken meminfo is an error") {
  CHECK(*parse_memory_total("MemTotal: 1024 kB\n") == Bytes{1 << 20});
  for (std::string_view bad : {"", "MemTotal:", "MemTotal: kB", "MemTotal: -1 kB", "MemTotal: x kB", "MemFree: 1 kB",
                               "MemTotal: 99999999999999999999 kB"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_memory_total(bad));
  }
  CHECK(host_facts("/nowhere").error().code == Code::kNotFound);
}

TEST_CASE("faults are remembered for one start of the machine") {
  Machine machine;
  XidsByGpu xids{{GpuUuid("GPU-1"), {79, 13}}, {GpuUuid("GPU-2"), {48}}};
  REQUIRE(remember_faults(machine.folder(), "boot-a", xids));
  CHECK(recall_faults(machine.folder(), "boot-a") == xids);
  CHECK(recall_faults(machine.folder(), "boot-b").empty());
  CHECK(recall_faults("", "boot-a").empty());
  CHECK(remember_faults("", "boot-a", xids));
  CHECK_FALSE(remember_faults("/nowhere", "boot-a", xids));
  machine.write(kFaultFile, "boot boot-a\nGPU-1 x\nGPU-2\n\nGPU-3 79 -1\n 5\nGPU-4 7\n");
  CHECK(recall_faults(machine.folder(), "boot-a") == XidsByGpu{{GpuUuid("GPU-4"), {7}}});
  machine.write(kFaultFile, "");
  CHECK(recall_faults(machine.folder(), "boot-a").empty());
}
