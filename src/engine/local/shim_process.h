// Starting a shim and connecting to it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "shim/fd.h"
#include "shim/launch.h"

namespace moulin {

// The lock of an attempt folder, which a shim holds exactly as long as it lives.
enum class LockState { kTaken, kHeldByShim };
struct AttemptLock {
  LockState state = LockState::kHeldByShim;
  Fd file{};  // open and locked when kTaken
};
// Makes the file when it is not there. Never waits.
Result<AttemptLock> take_lock(const Fd& folder);

// Makes the control socket anew and listens on it.
Result<Fd> listen_in(const Fd& folder);
// Connects to the control socket; non-blocking. kUnavailable or kNotFound when nobody listens.
Result<Fd> connect_in(const Fd& folder);

struct SpawnRequest {
  const std::vector<std::string>& command;  // program and first arguments, e.g. /proc/self/exe shim
  const std::string& folder_path;           // becomes the last argument
  const Fd& folder;
  const Fd& lock;
  const Fd& listener;
};
struct SpawnedShim {
  int64_t pid = 0;
  Fd process{};  // pidfd: readable when it has ended; a child of ours to be reaped
};
// Starts a shim in a session of its own with nothing of ours open but lock and listener.
// Costs the server a vfork, whatever its size.
Result<SpawnedShim> spawn_shim(const SpawnRequest& request);

// Takes a child that has ended off the list of processes; false while it runs.
bool reap(const SpawnedShim& shim);

}  // namespace moulin
