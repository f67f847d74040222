// A PID namespace with its own /proc: when its process 1 ends, the kernel ends all
// others in it.
#pragma once

#include <cstdint>
#include <string>

namespace moulin {

// Made before the clone, so that the new process only makes system calls.
class OwnNamespaces {
 public:
  OwnNamespaces();

  // For CloneRequest::namespaces: PID and mounts, and users unless we are root.
  uint64_t flags() const { return flags_; }
  // In the new process: keeps our user and group, and shows only the new namespace in
  // /proc (programs look themselves up there by getpid()). False with errno when the
  // system does not allow it.
  bool settle() const;

 private:
  uint64_t flags_;
  std::string user_map_;
  std::string group_map_;
};

}  // namespace moulin
