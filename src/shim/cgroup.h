// Control groups, version 2: a folder whose member processes can be counted, limited and
// killed together. Children of members are members; there is no way out without the
// right to write to another group.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "shim/fd.h"
#include "shim/launch.h"

namespace moulin {

// Where cgroup v2 is mounted, from the text of /proc/self/mountinfo; nothing when it is
// not mounted.
std::optional<std::string> cgroup_mount(std::string_view mountinfo);
// The path of a process's own group below the mount, from the text of /proc/PID/cgroup.
std::optional<std::string> cgroup_own_path(std::string_view proc_cgroup);

// The folder in which groups of replicas are made: "moulin" in the group that this
// process is in. Makes it and switches on the controllers that the system lets us have.
// kUnavailable with the reason when this host does not let us.
Result<std::string> prepare_cgroup_parent();

// Which limits a group enforces itself. The others must be watched.
struct CgroupLimits {
  bool cpu = false;
  bool memory = false;
  bool tasks = false;
};

// One group. Owns the open folder, not the group: it stays until remove().
class Cgroup {
 public:
  // Makes the group, or opens it when it exists.
  static Result<Cgroup> make(const std::string& path);
  // kNotFound when there is none.
  static Result<Cgroup> open(const std::string& path);

  const Fd& folder() const { return folder_; }
  const std::string& path() const { return path_; }

  // Sets what can be set; memory includes swap, and running out of it ends the whole group.
  CgroupLimits limit(const ShimLimits& limits) const;
  // SIGKILL to every member, also to those that are being forked.
  Status kill() const;
  // Is there a member that is not a zombie? Yes when it cannot be read.
  bool populated() const;
  std::optional<Duration> cpu() const;
  std::optional<Bytes> memory_peak() const;
  // Did the kernel end members because this group reached its own memory limit?
  bool hit_memory_limit() const;
  // Removes an empty group with those below it.
  Status remove() const;

 private:
  Cgroup(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  Status write(const char* file, std::string_view value) const;
  std::optional<int64_t> read_number(const char* file, std::string_view key) const;

  Fd folder_;
  std::string path_;
};

}  // namespace moulin
