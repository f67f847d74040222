// What this machine has for workloads, by what limits us: a server in a container or a
// systemd slice has less than the hardware.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/share.h"

namespace moulin {

struct HostFacts {
  std::string name;     // host name; "localhost" when there is none
  std::string boot_id;  // new with each start of the machine
  CpuMilli cpu;         // the least of: cores we may run on, CPU quotas of our cgroups
  Bytes memory;         // the least of: installed memory, memory limits of our cgroups
};

// `proc_folder` is "/proc" but in tests. Reads about ten small files; works with cgroup
// version 1, version 2, both and neither. kInternal: /proc/meminfo cannot be read.
Result<HostFacts> host_facts(const std::string& proc_folder = "/proc");

// ---- Parts, for tests ----

// A cgroup that we are in: its folder, and those above it up to the mount, innermost first.
struct CgroupFolders {
  std::vector<std::string> cpu;
  std::vector<std::string> memory;
};
// From the texts of /proc/self/cgroup and /proc/self/mountinfo.
CgroupFolders find_cgroups(std::string_view cgroup, std::string_view mountinfo);

// "MemTotal:  24689764 kB". kInternal when there is no such line.
Result<Bytes> parse_memory_total(std::string_view meminfo);

}  // namespace moulin
