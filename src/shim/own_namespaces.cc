#include "shim/own_namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "shim/fd.h"

namespace moulin {
namespace {

bool write_text(const char* path, std::string_view text) {
  Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

OwnNamespaces::OwnNamespaces()
    : flags_(CLONE_NEWPID | CLONE_NEWNS),
      user_map_(fmt::format("{0} {0} 1", ::geteuid())),
      group_map_(fmt::format("{0} {0} 1", ::getegid())) {
  if (::geteuid() != 0) flags_ |= CLONE_NEWUSER;
}

bool OwnNamespaces::settle() const {
  // In a new user namespace we are nobody until our own numbers are mapped to themselves.
  if ((flags_ & CLONE_NEWUSER) != 0) {
    bool kept = write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", user_map_) &&
                write_text("/proc/self/gid_map", group_map_);
    if (!kept) return false;
  }
  return ::mount("none", "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0 &&
         ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace moulin
